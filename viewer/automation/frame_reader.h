#pragma once
// What can be read in a recorded frame: its lines of words, and whether everything fits.
#include <string>
#include <vector>

#include "viewer/automation/draw_recorder.h"

namespace locus {

/// One line: pieces side by side on one baseline are one, raised and lowered ones with them.
struct SeenLine {
    std::string text;
    Corners box;  // what is seen of it
};

/// Every line of which something is seen, in the order in which they were drawn.
std::vector<SeenLine> seen_lines(const DrawRecorder& log);

/// The first line that is `text`, else the first that holds it; nullptr where none does.
const SeenLine* find_line(const std::vector<SeenLine>& lines, const std::string& text);

/// From the top of the capitals to the baseline, at most: what must not be covered.
Corners ink_of(const TextMark& text);

/// One sentence for each fault, empty for a frame without: a text that is cut off by its area or by the window, two
/// texts over each other, a place that reacts to the mouse but is outside the window, two such places of one name. What
/// a wheel scrolls may be cut off (Ui::Scrolled), and an overlay (DrawRecorder::above) may cover the page.  `window` is
/// the size of the window.
std::vector<std::string> layout_faults(const DrawRecorder& log, ImVec2 window);

}  // namespace locus

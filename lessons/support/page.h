#pragma once
// The page a lesson writes on: lines of at most 78 columns, spelt out for ASCII, broken at the end of a screen.
#include <iosfwd>
#include <string>
#include <vector>

namespace locus::lesson {

/// The closest spelling with letters and signs of ASCII: "δ ≤ 발" becomes "delta <= bal".
/// Throws Error(usage) for a character that has none.
std::string ascii_of(const std::string& text);

/// A space at which no line breaks.
inline constexpr char kGlue = '\x1f';

/// Joins the lines of a paragraph and breaks them anew at `columns`; lines that begin with a space, and empty ones,
/// stay as they are.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns = 78);

/// Sequences that a terminal understands; all of them empty where there is no colour.
struct Ink {
    bool on = false;
    std::string bold(const std::string& text) const { return on ? "\033[1m" + text + "\033[0m" : text; }
    /// Green for what is right, red for what is wrong.
    std::string tinted(const std::string& text, bool right) const {
        return on ? (right ? "\033[32m" : "\033[31m") + text + "\033[0m" : text;
    }
    /// The length of a bar: a full block is glaring in a terminal's own white.
    std::string bar(const std::string& text) const { return on ? "\033[38;5;67m" + text + "\033[0m" : text; }
    /// The text on the colour of `value` between -1 (blue) and 1 (red); near 0 it stays as it is.
    std::string shaded(const std::string& text, double value) const;
};

class Page {
public:
    bool ascii = false;
    bool silent = false;  // nothing is printed: --json, or the lesson behind a quiz
    bool step = false;    // waits for Enter at the end of a screen
    Ink ink;

    /// Text without any layout: what is written must be of one piece, because a screen ends only between pieces.
    void write(const std::string& lines);
    /// "≤" or "<=".
    std::string plain(const std::string& text) const { return ascii ? ascii_of(text) : text; }

private:
    int used_ = 0;  // lines on this screen
};

}  // namespace locus::lesson

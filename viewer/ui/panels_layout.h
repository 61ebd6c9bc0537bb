#pragma once
// The rooms around a page: top bar, rail, sentence bar, and what lies above all of them.
#include "viewer/page.h"
#include "viewer/state/commands.h"
#include "viewer/ui/toasts.h"

namespace locus {

/// Name, the model on the page, dialect; keys at the right.
void draw_top_bar(Scene& scene, const ModelCard& card, bool dialects, const Rect& bar);
/// The pages with their number keys; a click turns to one.
void draw_rail(Scene& scene, const Rect& rail, const std::vector<std::unique_ptr<Page>>& pages);

/// The tokens as chips, or the text box while the sentence is edited.
class SentenceBar {
public:
    /// Between the bar's left end and `right`.
    void draw(Scene& scene, const Rect& bar, float right);
    /// Instead of draw() where nothing of it is on screen: the next box takes the keyboard anew.
    void rest() { focus_ = true; }

private:
    void draw_chips(Scene& scene, const Rect& room);
    void draw_box(Scene& scene, const Rect& room);

    float scroll_ = 0;
    Cell followed_;      // the cell whose chips were last scrolled into sight
    bool focus_ = true;  // the box takes the keyboard when it opens
};

/// The sentence of the tour with its controls, in place of the formula.
void draw_tour_strip(Scene& scene, const Rect& bar);
/// One step forth or back.
void step_tour(Scene& scene, Index by);

/// Commands by name, over everything.
class Palette {
public:
    /// The command that was chosen; the palette is then closed.
    std::optional<Command> draw(Scene& scene, const Rect& screen);
    /// Up and down choose; letters go to the box.
    void press(const KeyPress& press);
    void close(State& state);

private:
    std::string typed_;
    std::size_t chosen_ = 0;
    bool open_ = false, entered_ = false;
};

/// Work that has taken long enough to be spoken of.
struct Progress {
    std::string what;    // "opening tiny-v2"; empty: there is none
    double seconds = 0;  // so far
};

/// Toasts and progress above the formula bar; a click closes a toast.  `now` in seconds, as the toasts count.
void draw_toasts(Scene& scene, const Rect& rooms, Toasts& toasts, const Progress& progress, double now);

/// Every key with what it does, everywhere and on this page, over a dimmed screen; any key or click closes it.
void draw_key_sheet(Scene& scene, const Page& page, const Rect& screen);

}  // namespace locus

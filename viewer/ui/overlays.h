#pragma once
// What is above the page for a moment: the palette, the list of keys, toasts; the export overlay draws on the same
// box.
#include "viewer/page.h"
#include "viewer/state/palette_commands.h"
#include "viewer/ui/toasts.h"

namespace locus {

/// From here to the end of its scope everything is drawn on a box over the dimmed screen, clipped to the box.
class Overlay {
public:
    Overlay(const Ui& ui, const Rect& screen, const Rect& box);
    ~Overlay();
    Overlay(const Overlay&) = delete;
    Overlay& operator=(const Overlay&) = delete;

private:
    Canvas canvas_;
    DrawRecorder* log_;
};

/// Commands by name, over everything.
class Palette {
public:
    /// The command that was chosen; the palette is then closed.
    std::optional<Command> draw(Scene& scene, const Rect& screen);
    /// Up and down choose; letters go to the text box.
    void press(const KeyPress& press);
    void close(State& state);

private:
    std::string typed_;
    std::size_t chosen_ = 0;
    bool open_ = false, entered_ = false;
};

/// Work that has taken long enough to be shown.
struct Progress {
    std::string what;    // "opening tiny-v2"; empty: there is none
    double seconds = 0;  // so far
};

/// Toasts and progress above the formula bar; a click closes a toast.  `now` in seconds, on the clock of the toasts.
void draw_toasts(Scene& scene, const Rect& area, Toasts& toasts, const Progress& progress, double now);

/// Every key with what it does, everywhere and on this page, over a dimmed screen; any key or click closes it.
void draw_key_overlay(Scene& scene, const Page& page, const Rect& screen);

}  // namespace locus

#include "viewer/loop.h"

#include <algorithm>
#include <chrono>

namespace locus {

namespace {

constexpr int kFramesAfterInput = 3;  // Dear ImGui needs a frame to notice the pointer and one to answer it
constexpr double kCaret = 0.25;       // seconds between frames while a caret blinks or a film runs
constexpr double kFlash = 0.03;       // the same while changed cells fade
constexpr double kAsleep = 3600;

}  // namespace

void run_loop(Window& window, App& app, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto left = [&] { return seconds - std::chrono::duration<double>(Clock::now() - start).count(); };
    int frames = 0;
    while (!window.should_close() && !app.wants_to_close() && left() > 0) {
        const bool caret = app.state().editing || app.state().palette || app.state().film_runs();
        const bool flash = app.flashes();
        window.wait(frames > 0 ? 0 : std::min(left(), flash ? kFlash : caret ? kCaret : kAsleep));
        if (window.take_activity()) frames = kFramesAfterInput;
        if (frames == 0 && !caret && !flash && app.settled()) continue;
        frames = std::max(0, frames - 1);
        app.draw_frame();
    }
}

void settle(Window& window, App& app) {
    for (int still = 0; still < kFramesAfterInput;) {
        window.wait(still > 0 ? 0 : 0.02);
        still = app.draw_frame() ? 0 : still + 1;
        if (!app.error().empty()) throw Error(app.fault(), app.error());
    }
}

}  // namespace locus

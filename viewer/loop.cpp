#include "viewer/loop.h"

#include <algorithm>
#include <chrono>

namespace locus {

namespace {

constexpr int kFramesAfterInput = 3;  // Dear ImGui needs a frame to notice the pointer and one to answer it
constexpr double kAsleep = 3600;

}  // namespace

void run_loop(Window& window, App& app, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto left = [&] { return seconds - std::chrono::duration<double>(Clock::now() - start).count(); };
    int frames = 0;
    while (!window.should_close() && !app.wants_to_close() && left() > 0) {
        const double rest = app.rest();
        window.wait(frames > 0 ? 0 : std::min({left(), rest, kAsleep}));
        if (window.take_activity()) frames = kFramesAfterInput;
        if (frames == 0 && rest > kAsleep && app.settled()) continue;
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

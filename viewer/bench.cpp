#include "viewer/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "viewer/loop.h"
#include "viewer/plots/heatmap.h"

namespace locus {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr Index kCells = 2048;
constexpr int kPanFrames = 120;
constexpr double kIdleSeconds = 3;

double milliseconds(Clock::time_point from) {
    return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// From the change of the head to the finished picture.
Json measure_head_change(Window& window, App& app, Index heads) {
    settle(window, app);
    std::vector<double> times;
    for (int n = 0; n < 60; ++n) {
        app.state().head = n % heads;
        const auto start = Clock::now();
        app.draw_frame();
        times.push_back(milliseconds(start));
    }
    return {{"median_ms", median(times)}, {"worst_ms", *std::max_element(times.begin(), times.end())}};
}

/// Whole frames with one matrix as large as the window allows, moved a little in each.
double pan_frames_per_second(Window& window, Fonts& fonts, const Heatmap& heatmap, double cells_shown, int width,
                             int height) {
    MatrixView view;
    view.zoom(static_cast<double>(kCells) / cells_shown, 0, 0, kCells);
    const auto start = Clock::now();
    for (int frame = 0; frame < kPanFrames; ++frame) {
        window.wait(0);
        window.begin_frame();
        Ui ui(fonts, theme_of(ThemeName::dark), 1);
        ui.list = ImGui::GetBackgroundDrawList();
        view.pan(-0.004, -0.004, kCells);
        const auto side = static_cast<float>(std::min(width, height) - 40);
        const Rect cells{20, 20, 20 + side, 20 + side};
        heatmap.draw(ui, cells, view);
        heatmap.draw_crosshair(ui, cells, view, {kCells / 2, kCells / 2});
        heatmap.draw_legend(ui, cells.x0, cells.y1 + 10);
        window.present(theme_of(ThemeName::dark).background);
    }
    return kPanFrames / (milliseconds(start) / 1000);
}

Json measure_panning(Window& window, int width, int height) {
    Fonts fonts;
    fonts.update(1);
    window.reload_fonts();
    std::srand(1);  // Eigen's Random draws from it: the same picture every time
    const Matrix<float> values = Matrix<float>::Random(kCells, kCells);
    Heatmap heatmap;
    const auto start = Clock::now();
    heatmap.show({1, 0, ThemeName::dark}, values, {}, MapKind::diverging);
    Json result = {{"cells", kCells}, {"upload_ms", milliseconds(start)}};
    double slowest = 1e9;
    for (const double shown : {2048.0, 760.0, 190.0}) {
        const double rate = pan_frames_per_second(window, fonts, heatmap, shown, width, height);
        result["fps_showing_" + std::to_string(static_cast<int>(shown))] = rate;
        slowest = std::min(slowest, rate);
    }
    result["fps_slowest"] = slowest;
    return result;
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Of one core, with a window on screen and nobody touching it.
double idle_percent(const Session& session, const State& state, int width, int height) {
    Window window({"Locus", width, height, false});
    App app(window, session, state);
    run_loop(window, app, 1);  // everything drawn, everything asleep
    const double before = cpu_seconds();
    run_loop(window, app, kIdleSeconds);
    return (cpu_seconds() - before) / kIdleSeconds * 100;
}

}  // namespace

std::string run_bench(const Session& session, const State& state, int width, int height) {
    Json result;
    {
        Window window({"Locus", width, height, true});
        result["renderer"] = window.renderer();
        result["size"] = {width, height};
        {
            App app(window, session, state);
            result["head_change"] = measure_head_change(window, app, session.config().num_attention_heads);
        }
        result["pan"] = measure_panning(window, width, height);
    }
    result["idle_percent_of_a_core"] = idle_percent(session, state, width, height);
    return result.dump(2);
}

}  // namespace locus

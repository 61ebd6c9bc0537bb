#include "viewer/automation/automation.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "viewer/app.h"
#include "viewer/plots/heatmap.h"

namespace locus {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr Index kCells = 4096;
constexpr int kPanFrames = 120;
constexpr int kKeystrokes = 15;
constexpr double kIdleSeconds = 3;

double milliseconds(Clock::time_point from) {
    return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Since this process was started: its own clock begins when main does, after the libraries were loaded.
double milliseconds_of_life() {
    std::ifstream file("/proc/self/stat");
    std::string stat((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 2)));
    std::string skipped;
    for (int n = 3; n < 22; ++n) fields >> skipped;
    double started = 0;  // in ticks since the machine was
    fields >> started;
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
            started / static_cast<double>(sysconf(_SC_CLK_TCK))) *
           1000;
}

/// Resident memory of this process, in MB.
double megabytes() {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

/// From a letter more in the sentence (or a token more in the list) to the finished picture.
Json measure_keystrokes(Window& window, App& app) {
    settle(window, app);
    State& state = app.state();
    const State before = state;
    std::vector<double> times;
    for (int n = 0; n < kKeystrokes; ++n) {
        const bool even = n % 2 == 0;
        if (state.tokens.empty())
            state.text = even ? before.text + "a" : before.text;
        else
            state.tokens = even ? before.tokens + ",5" : before.tokens;
        const auto start = Clock::now();
        while (app.draw_frame()) window.wait(0.001);
        times.push_back(milliseconds(start));
    }
    state = before;
    settle(window, app);
    return {{"median_ms", median(times)}, {"worst_ms", *std::max_element(times.begin(), times.end())}};
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

/// Whole frames with one matrix as large as the window allows, moved a little in each, and zoomed by a factor.
Json explore_frames(Window& window, Fonts& fonts, const Heatmap& heatmap, MatrixView view, double zoom, int width,
                    int height) {
    std::vector<double> times;
    for (int frame = 0; frame < kPanFrames; ++frame) {
        const auto start = Clock::now();
        window.wait(0);
        window.begin_frame();
        Ui ui(fonts, theme_of(ThemeName::dark), 1);
        ui.list = ImGui::GetBackgroundDrawList();
        view.pan(-0.004, -0.004, kCells);
        if (zoom != 1) view.zoom(zoom, 0.5, 0.5, kCells);
        const auto side = static_cast<float>(std::min(width, height) - 40);
        const Rect cells{20, 20, 20 + side, 20 + side};
        heatmap.draw(ui, cells, view);
        heatmap.draw_crosshair(ui, cells, view, {kCells / 2, kCells / 2});
        heatmap.draw_legend(ui, cells.x0, cells.y1 + 10);
        window.present(theme_of(ThemeName::dark).background);
        times.push_back(milliseconds(start));
    }
    double sum = 0;
    for (const double time : times) sum += time;
    return {{"fps", 1000 * kPanFrames / sum}, {"worst_ms", *std::max_element(times.begin(), times.end())}};
}

Json measure_large_matrix(Window& window, int width, int height) {
    Fonts fonts;
    fonts.update(1);
    window.reload_fonts();
    std::srand(1);  // Eigen's Random draws from it: the same picture every time
    Matrix<float> values = Matrix<float>::Random(kCells, kCells);
    const double before = megabytes();
    Heatmap heatmap;
    const auto start = Clock::now();
    heatmap.show({1, 0, ThemeName::dark}, std::move(values), {}, MapKind::diverging);
    Json result = {{"cells", kCells}, {"show_ms", milliseconds(start)}};
    double slowest = 1e9;
    const auto measure = [&](const std::string& name, double shown, double zoom) {
        MatrixView view;
        view.zoom(static_cast<double>(kCells) / shown, 0, 0, kCells);
        result[name] = explore_frames(window, fonts, heatmap, view, zoom, width, height);
        slowest = std::min(slowest, result[name]["fps"].get<double>());
    };
    measure("whole", kCells, 1);
    measure("showing_1500", 1500, 1);
    measure("showing_190", 190, 1);
    measure("zooming_in", kCells, 1.05);
    measure("zooming_out", 16, 1 / 1.05);
    result["fps_slowest"] = slowest;
    result["matrix_mb"] = static_cast<double>(kCells * kCells) * sizeof(float) / 1e6;
    result["memory_beside_it_mb"] = megabytes() - before;
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

/// Of one core, with a window on screen and no input.
double idle_percent(const DebertaSession& session, const State& state, int width, int height) {
    Window window({"Locus", width, height, false});
    App app(window, session, state);
    run_loop(window, app, 1);  // everything drawn, everything asleep
    const double before = cpu_seconds();
    run_loop(window, app, kIdleSeconds);
    return (cpu_seconds() - before) / kIdleSeconds * 100;
}

}  // namespace

std::string run_bench(const DebertaSession& session, const State& state, int width, int height) {
    Json result;
    {
        Window window({"Locus", width, height, true});
        result["renderer"] = window.renderer();
        result["size"] = {width, height};
        {
            App app(window, session, state);
            settle(window, app);
            result["first_frame_ms"] = milliseconds_of_life();
            result["keystroke"] = measure_keystrokes(window, app);
            result["head_change"] = measure_head_change(window, app, session.config().num_attention_heads);
        }
        result["large_matrix"] = measure_large_matrix(window, width, height);
    }
    result["idle_percent_of_a_core"] = idle_percent(session, state, width, height);
    return result.dump(2);
}

}  // namespace locus

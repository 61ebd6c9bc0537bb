#include "viewer/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "viewer/plots/heatmap.h"

namespace locus::view {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

double head_change_ms(App& app, State& state) {
    std::vector<double> times;
    for (int n = 0; n < 60; ++n) {
        state.head = n % static_cast<int>(app.snapshot()->heads());
        const double start = now();
        app.frame();
        times.push_back((now() - start) * 1e3);
    }
    return median(times);
}

/// Draws a matrix of 2048 x 2048 zoomed to a quarter, moving a cell a frame.
double pan_fps(Window& window) {
    constexpr int kSide = 2048, kFrames = 120;
    HeatmapData data;
    data.grid = {kSide, kSide, {}};
    for (int n = 0; n < kSide * kSide; ++n) data.grid.values.push_back(std::sin(static_cast<float>(n % 977) * 0.05F));
    data.version = 1;
    HeatmapTextures textures;
    HeatmapView view{0, 0, kSide / 4.0};
    const Palette& colours = palette(true);
    double start = 0;
    for (int frame = 0; frame < kFrames + 5; ++frame) {
        if (frame == 5) start = now();  // the first frames make the texture
        view.first_col = view.first_row = frame * 4;
        window.wait_events(0);
        window.begin_frame();
        const ImVec2 size = ImGui::GetIO().DisplaySize;
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize(size);
        ImGui::Begin("pan", nullptr, ImGuiWindowFlags_NoDecoration);
        draw_heatmap("pan", {40, 40}, std::min(size.x, size.y) - 80, data, textures, view, {{5, 5}, {}, &colours, 1});
        ImGui::End();
        window.end_frame(colours.background);
    }
    return kFrames / (now() - start);
}

/// The loop of the window, left alone for three seconds after it came to rest.
double idle_percent(Window& window, App& app) {
    Pacer pacer;
    const auto run_for = [&](double seconds) {
        for (const double end = now() + seconds; now() < end;) {
            window.wait_events(std::min(pacer.wait_seconds(), std::max(0.001, end - now())));
            if (now() < end) pacer.drawn(app.frame());
        }
    };
    run_for(0.5);
    const double start = now(), used = cpu_seconds();
    run_for(3);
    return (cpu_seconds() - used) / (now() - start) * 100;
}

}  // namespace

std::string run_bench(Window& window, App& app, State& state) {
    while (!app.settled()) {
        app.frame();
        window.wait_events(0.005);
    }
    nlohmann::ordered_json json;
    json["head_change_ms"] = head_change_ms(app, state);
    json["pan_fps"] = pan_fps(window);
    json["idle_cpu_percent"] = idle_percent(window, app);
    return json.dump();
}

}  // namespace locus::view

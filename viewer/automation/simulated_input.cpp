#include "viewer/automation/simulated_input.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "viewer/ui/characters.h"

namespace locus {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBetweenClicks = 0.5;  // seconds: longer than what makes two clicks a double click
constexpr double kShiftFrame = 0.05;    // between frames while time passes off screen
constexpr int kStillFrames = 3;         // Dear ImGui needs a frame to notice the pointer and one to answer it
constexpr double kPatience = 60;        // seconds of the clock for one answer

}  // namespace

SimulatedInput::SimulatedInput(Window& window, App& app, bool visible) : window_(window), app_(app), visible_(visible) {
    app_.record(&seen_);
    leave();
}

SimulatedInput::~SimulatedInput() {
    app_.record(nullptr);
    window_.set_frame_time(0);
}

void SimulatedInput::draw(double seconds) {
    window_.wait(0);
    window_.set_frame_time(visible_ ? 0 : seconds);
    ImGui::GetIO().MouseDrawCursor = visible_;
    app_.draw_frame();
    if (visible_) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

bool SimulatedInput::settle(bool beside_runs) {
    auto start = Clock::now();
    for (int still = 0; still < kStillFrames;) {
        draw();
        const bool settled = app_.settled(beside_runs);
        still = settled ? still + 1 : 0;
        if (!settled) window_.wait(0.01);
        if (!beside_runs && app_.runs()) start = Clock::now();
        if (Clock::now() - start > std::chrono::duration<double>(kPatience)) return false;
    }
    return true;
}

void SimulatedInput::wait(double seconds) {
    for (double passed = 0; passed < seconds; passed += kShiftFrame) draw(std::min(kShiftFrame, seconds - passed));
}

void SimulatedInput::move(ImVec2 to) {
    window_.point_at(to);
    draw();
    draw();
}

void SimulatedInput::leave() { window_.point_at({-1000, -1000}); }

void SimulatedInput::hold_keys(const ClickStyle& style, bool down) {
    window_.hold_modifiers(style.ctrl, style.shift, down);
}

void SimulatedInput::click(ImVec2 at, const ClickStyle& style) {
    window_.point_at(at);
    hold_keys(style, true);
    draw(kBetweenClicks);
    for (int n = 0; n < (style.twice ? 2 : 1); ++n) {
        window_.hold_button(style.right, true);
        draw();
        window_.hold_button(style.right, false);
        draw();
    }
    hold_keys(style, false);
    draw();
}

void SimulatedInput::drag(ImVec2 from, ImVec2 to, const ClickStyle& style) {
    constexpr int kSteps = 6;
    window_.point_at(from);
    hold_keys(style, true);
    draw(kBetweenClicks);
    window_.hold_button(style.right, true);
    draw();
    for (int n = 1; n <= kSteps; ++n) {
        const float share = static_cast<float>(n) / kSteps;
        window_.point_at({from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share});
        draw();
    }
    window_.hold_button(style.right, false);
    draw();
    hold_keys(style, false);
    draw();
}

void SimulatedInput::turn_wheel(ImVec2 at, float steps) {
    window_.point_at(at);
    draw();
    for (float left = std::abs(steps); left > 0; left -= 1) {
        window_.turn_wheel(std::min(left, 1.0f) * (steps < 0 ? -1.0f : 1.0f));
        draw();
    }
}

void SimulatedInput::press(const KeyPress& press) {
    window_.play_key(press, true);
    draw();
    window_.play_key(press, false);
    draw();
}

void SimulatedInput::type(std::string_view text) {
    while (!text.empty()) {
        const char32_t character = take_character(text);
        press(character == ' ' ? KeyPress{Key::space} : KeyPress{Key::character, character});
    }
}

void SimulatedInput::resize(int width, int height) {
    window_.resize(width, height);
    draw();
}

}  // namespace locus

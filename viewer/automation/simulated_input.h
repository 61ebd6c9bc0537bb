#pragma once
// A person at the window, played: pointer, wheel and keys take the way of real ones, a frame or more each.
#include "viewer/app.h"

namespace locus {

struct ClickStyle {
    bool right = false, twice = false, ctrl = false, shift = false;
};

class SimulatedInput {
public:
    /// `visible`: in the time of the clock and with a pointer that one can see; otherwise as fast as it goes.
    SimulatedInput(Window& window, App& app, bool visible);
    ~SimulatedInput();
    SimulatedInput(const SimulatedInput&) = delete;
    SimulatedInput& operator=(const SimulatedInput&) = delete;

    /// What the last frame was made of.
    const DrawRecorder& seen() const { return seen_; }
    /// One frame of `seconds`, by the clock that the screen reads.
    void draw(double seconds = 1.0 / 60);
    /// Until everything that was asked for is on screen and nothing moves.  What a page runs for long takes as long as
    /// it takes, or goes on (beside_runs); false: something else took more than a minute of the clock.
    bool settle(bool beside_runs = false);
    void wait(double seconds);

    void move(ImVec2 to);
    /// Away from everything.
    void leave();
    void click(ImVec2 at, const ClickStyle& style);
    void drag(ImVec2 from, ImVec2 to, const ClickStyle& style);
    void turn_wheel(ImVec2 at, float steps);
    void press(const KeyPress& press);
    void type(std::string_view text);
    void resize(int width, int height);

private:
    void hold_keys(const ClickStyle& style, bool down);

    Window& window_;
    App& app_;
    bool visible_;
    DrawRecorder seen_;
};

}  // namespace locus

// Undo goes back by what somebody did, not by what moved.
#include "viewer/state/history.h"

#include <catch2/catch.hpp>

namespace locus::test::test_history {

namespace {

/// A screen on which somebody does one thing after the other.
struct Screen {
    State state;
    History history;
    double now = 0;
    Screen() { see(false); }
    void see(bool by_hand = true, bool held = false) { history.observe(state, now, by_hand, held); }
    void later(double seconds = 5) { now += seconds; }
    bool undo() { return shown(history.undo(state)); }
    bool redo() { return shown(history.redo(state)); }
    bool shown(const std::optional<State>& then) {
        if (then) state = *then;
        see(false);
        return then.has_value();
    }
};

}  // namespace

TEST_CASE("undo: one step back for every thing that was done, and forth again", "[viewer][desk]") {
    Screen screen;
    screen.state.head = 1;
    screen.see();
    screen.later();
    screen.state.page = "rope";
    screen.see();
    REQUIRE(screen.undo());
    CHECK(screen.state.page == "attention");
    CHECK(screen.state.head == 1);
    REQUIRE(screen.undo());
    CHECK(screen.state.head == 3);
    CHECK_FALSE(screen.undo());
    REQUIRE(screen.redo());
    REQUIRE(screen.redo());
    CHECK(screen.state.page == "rope");
    CHECK_FALSE(screen.redo());
    screen.undo();
    screen.later();
    screen.state.theme = ThemeName::light;
    screen.see();
    CHECK_FALSE(screen.redo());  // another way was taken
}

TEST_CASE("undo: hovering, films and what follows by itself are no steps", "[viewer][desk]") {
    Screen screen;
    screen.state.locked = false;
    screen.see();
    screen.later();
    for (Index n = 0; n < 9; ++n) {
        screen.state.cell = {n, n};
        screen.see();
        screen.later();
    }
    screen.state.page = "transformer-xl";
    screen.state.memory.film.playing = true;
    screen.see();
    screen.later();
    for (Index n = 0; n < 5; ++n) {
        screen.state.memory.film.at = static_cast<double>(n);
        screen.see(false);
        screen.later();
    }
    screen.state.layer = 1;  // a clamp: nobody touched anything
    screen.see(false);
    REQUIRE(screen.undo());
    CHECK(screen.state.page == "attention");
    REQUIRE(screen.undo());
    CHECK(screen.state.locked);
    CHECK_FALSE(screen.undo());
}

TEST_CASE("undo: a drag, a run of one key and a visit to the text box are one step each", "[viewer][desk]") {
    Screen screen;
    for (int n = 9; n >= 0; --n) {
        screen.later();
        screen.state.strength = n / 10.0;
        screen.see(true, n < 9);  // the button is held
    }
    screen.later();
    for (int n = 0; n < 4; ++n) {
        screen.later(0.1);
        screen.state.head = n;
        screen.see();
    }
    screen.later();
    screen.state.editing = true;
    screen.see();
    for (const char* text : {"t", "th", "the"}) {
        screen.later();
        screen.state.text = text;
        screen.see();
    }
    REQUIRE(screen.undo());
    CHECK(screen.state.text == State{}.text);
    CHECK_FALSE(screen.state.editing);
    REQUIRE(screen.undo());
    CHECK(screen.state.head == 3);
    CHECK(screen.state.strength == 0);
    REQUIRE(screen.undo());
    CHECK(screen.state.strength == 1);
    CHECK_FALSE(screen.undo());
}

TEST_CASE("undo: keeps a bounded number of steps, and a model that was open is wished for again", "[viewer][desk]") {
    Screen screen;
    for (std::size_t n = 0; n < History::kMost + 50; ++n) {
        screen.later();
        screen.state.text = "text " + std::to_string(n);
        screen.see();
    }
    std::size_t steps = 0;
    while (screen.undo()) ++steps;
    CHECK(steps == History::kMost);

    screen = {};
    screen.later();
    screen.state.model = "/other";
    screen.state.recent.models = {"/other"};
    screen.see();
    REQUIRE(screen.undo());
    CHECK(screen.state.model == "/other");
    CHECK(screen.state.wanted_model == "tiny-v3");
    CHECK(screen.state.recent.models.size() == 1);
}

}  // namespace locus::test::test_history

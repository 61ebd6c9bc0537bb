// What the screen remembers has names; a name reads back what it wrote.
#include <catch2/catch.hpp>
#include <set>

#include "core/check.h"
#include "viewer/state/history.h"
#include "viewer/state/state_fields.h"

namespace locus::test::test_state {

TEST_CASE("state fields: every name is there once, and what it says it can read", "[view][state]") {
    std::set<std::string> names;
    const State fresh;
    for (const StateField& field : state_fields()) {
        INFO(field.name);
        CHECK(names.insert(field.name).second);
        State state;
        field.set(state, field.get(fresh));
        CHECK(field.get(state) == field.get(fresh));
    }
    CHECK(changed_fields(fresh).empty());
    State unlocked;
    set_field(unlocked, "locked=no");
    CHECK_FALSE(unlocked.locked);
    CHECK(changed_fields(unlocked) == std::vector<std::string>{"locked=no"});
}

TEST_CASE("state fields: what was changed is said, and makes the same screen again", "[view][state]") {
    State state;
    state.page = "rope";
    state.rope.m = 7;
    state.rope.layout = 1;
    state.zoom = 1.15f;
    state.cell = {4, 9};
    state.view = {1.25, 0.1, 7};
    state.compare.b.dialect = Dialect::hf;
    state.text = "what = this?";
    const std::vector<std::string> changed = changed_fields(state);
    CHECK(changed.size() == 8);
    State again;
    for (const std::string& field : changed) set_field(again, field);
    CHECK(changed_fields(again, state).empty());
    CHECK(again.rope.m == 7);
    CHECK(again.text == "what = this?");
    CHECK(again.view.first_j == 0.1);
}

TEST_CASE("state fields: each is a place of its own", "[view][state]") {
    const State fresh;
    std::vector<std::string> values = {"1,0,2", "2,1", "1,2", "0", "1", "2", "3", "no", "yes", "words"};
    // The last word that a field offers is none that it starts with.
    for (const char* word : {"hf", "light", "mean", "stage", "share", "pass-1", "clamp", "half-split", "scores",
                             "channels", "reach", "xlnet", "query", "content", "tf-idf", "cuda"})
        values.emplace_back(word);
    for (const StateField& field : state_fields()) {
        State state;
        for (const std::string& value : values) {
            try {
                field.set(state, value);
            } catch (const Error&) {  // not of its kind: another one
            }
            if (field.get(state) != field.get(fresh)) break;
        }
        INFO(field.name);
        CHECK(changed_fields(state, fresh) == std::vector<std::string>{field.name + "=" + field.get(state)});
    }
}

TEST_CASE("state fields: a bad name or value is refused in one sentence", "[view][state]") {
    State state;
    const auto refused = [&](const std::string& set, const std::string& expected) {
        INFO(set);
        CHECK_THROWS_WITH(set_field(state, set), Catch::Contains(expected));
    };
    refused("rope.m", "expected NAME=VALUE");
    refused("rope.q=1", "rope.q");
    refused("rope.m=-1", "a whole number from 0");
    refused("rope.m=1x", "rope.m is \"1x\"");
    refused("zoom=nan", "0.5 to 4");
    refused("theme=pink", "one of dark, light, contrast");
    refused("locked=1", "yes or no");
    refused("cell=3", "I,J");
    refused("cell=-1,2", "I,J");
    refused("cell=1,-2", "I,J");
    refused("zoom=0.4", "0.5 to 4");
    refused("zoom=4.1", "0.5 to 4");
    refused("decoder.strength=1.5", "0 to 1");
    refused("zoom=1,5", "zoom is \"1,5\"");
    refused("masked=2,2", "rising whole numbers");
    refused("masked=3,1", "rising whole numbers");
    refused("masked=1,,2", "rising whole numbers");
    refused("view=-1,0,2", "I,J,N");
    refused("view=0,0,-2", "I,J,N");
    refused("view=1,2", "I,J,N");
    CHECK(changed_fields(state).empty());
}

// Undo goes back by what somebody did, not by what moved.

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

TEST_CASE("undo: hovering, animations and what follows by itself are no steps", "[viewer][desk]") {
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
    screen.state.memory.animation.playing = true;
    screen.see();
    screen.later();
    for (Index n = 0; n < 5; ++n) {
        screen.state.memory.animation.at = static_cast<double>(n);
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

}  // namespace locus::test::test_state

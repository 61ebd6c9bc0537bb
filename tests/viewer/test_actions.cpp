// Keys, palette and list of keys are one list.
#include "viewer/state/actions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "viewer/pages/page_names.h"
#include "viewer/state/palette_commands.h"

namespace locus::test::test_actions {

namespace {

std::vector<std::string> titles(const State& state, const CommandScope& scope, const std::string& typed) {
    std::vector<std::string> all;
    for (const Command& command : find_commands(state, scope, typed)) all.push_back(command.title);
    return all;
}

const CommandScope kScope{4, 4, {"[CLS]", "the", "mall", "[SEP]"}, {"layer.0.c2p", "layer.1.p2c"}};

/// Does what the first command of the palette does.
State after(const std::string& typed, State state = {}) {
    const std::vector<Command> found = find_commands(state, kScope, typed);
    REQUIRE_FALSE(found.empty());
    if (found[0].change) found[0].change(state);
    ActionScope scope{state, kScope.layers, kScope.heads};
    if (found[0].action && found[0].action->run) found[0].action->run(scope);
    return state;
}

/// What a key does to a model of four layers and four heads; false: nothing here.
bool press(ActionScope& scope, const std::string& key) {
    const NamedAction* action = action_of(key_named(key), scope.state.page);
    return action && action->run && action->run(scope);
}

}  // namespace

TEST_CASE("actions: layers and heads step inside the model, on pages that show its heads", "[viewer][desk]") {
    State state;
    ActionScope scope{state, 4, 4};
    state.layer = 2;
    state.head = 1;
    for (const Index expected : {3, 3}) {
        CHECK(press(scope, "]"));
        CHECK(state.layer == expected);
    }
    for (const Index expected : {2, 1, 0, 0}) {
        CHECK(press(scope, "["));
        CHECK(state.layer == expected);
    }
    for (const Index expected : {2, 3, 3}) {
        CHECK(press(scope, "."));
        CHECK(state.head == expected);
    }
    for (const Index expected : {2, 1, 0, 0}) {
        CHECK(press(scope, ","));
        CHECK(state.head == expected);
    }
    state.page = "decoder";  // the mean of all heads, then each
    for (const Index expected : {0, 1, 2, 3, 3}) {
        CHECK(press(scope, "."));
        CHECK(state.decoder_head == expected);
    }
    for (int n = 0; n < 6; ++n) CHECK(press(scope, ","));
    CHECK(state.decoder_head == -1);
    CHECK(state.head == 0);
    state.page = "rope";  // it has a layer and a head of its own
    for (const char* key : {"]", ".", "d"}) CHECK_FALSE(press(scope, key));
    CHECK(state.layer == 0);
    CHECK(state.head == 0);
    CHECK(state.dialect == State{}.dialect);
}

TEST_CASE("actions: what has several values comes back to the first", "[viewer][desk]") {
    State state;
    ActionScope scope{state, 4, 4};
    for (const Dialect expected : {Dialect::hf, Dialect::paper, Dialect::official}) {
        CHECK(press(scope, "d"));
        CHECK(state.dialect == expected);
    }
    for (const ThemeName expected : {ThemeName::light, ThemeName::contrast, ThemeName::dark}) {
        CHECK(press(scope, "t"));
        CHECK(state.theme == expected);
    }
    std::set<Pooling> poolings;
    std::set<std::string> said;
    for (int n = 0; n < 4; ++n) {
        CHECK(press(scope, "l"));
        poolings.insert(state.pooling);
        said.insert(state.notice);
    }
    CHECK(poolings.size() == 4);
    CHECK(said.size() == 4);
    CHECK(state.pooling == State{}.pooling);
    CHECK(press(scope, "Ctrl +"));
    CHECK(state.zoom == Approx(1.1));
    for (int n = 0; n < 40; ++n) CHECK(press(scope, "Ctrl ="));
    CHECK(state.zoom == 4);
    for (int n = 0; n < 40; ++n) CHECK(press(scope, "Ctrl \u2212"));
    CHECK(state.zoom == 0.5f);
    CHECK(press(scope, "Ctrl 0"));
    CHECK(state.zoom == 1);
    for (const bool expected : {true, false}) {
        for (const char* key : {"Ctrl L", "Ctrl P", "Ctrl E"}) CHECK(press(scope, key));
        CHECK(state.editing == expected);
        CHECK(state.palette == expected);
        CHECK(state.exports.open == expected);
    }
    CHECK(press(scope, "?"));
    CHECK(state.key_overlay);
    CHECK(press(scope, "Ctrl Shift C"));
    CHECK(state.exports.copies);
}

TEST_CASE("actions: escape closes what lies above, ends the tour, clears the selection, then unlocks",
          "[viewer][desk]") {
    for (bool State::*above : {&State::key_overlay, &State::palette, &State::editing}) {
        State state;
        ActionScope scope{state, 4, 4};
        go_to_step(state, 1, 4, 4);
        state.page = "attention";
        state.*above = true;
        state.attention.selection = {{1}, {2}};
        CHECK(press(scope, "Esc"));
        CHECK_FALSE(state.*above);
        CHECK(state.tour.step == 1);
        CHECK(press(scope, "Esc"));
        CHECK(state.tour.step == -1);
        CHECK_FALSE(state.attention.selection.empty());
        CHECK(press(scope, "Esc"));
        CHECK(state.attention.selection.empty());
        state.locked = state.positions.locked = state.memory.locked = true;
        state.permutation.locked = state.compare.locked = state.text_page.locked = true;
        CHECK(press(scope, "Esc"));
        CHECK_FALSE(state.locked);
        CHECK_FALSE(state.positions.locked);
        CHECK_FALSE(state.memory.locked);
        CHECK_FALSE(state.permutation.locked);
        CHECK_FALSE(state.compare.locked);
        CHECK_FALSE(state.text_page.locked);
    }
    State state;
    ActionScope scope{state, 4, 4};
    state.exports.open = true;
    CHECK(press(scope, "Esc"));
    CHECK_FALSE(state.exports.open);
    CHECK(state.locked);
}

TEST_CASE("actions: every page has its key, the tour goes on and back, and the frame is told the rest",
          "[viewer][desk]") {
    State state;
    ActionScope scope{state, 4, 4};
    for (const PageName& page : page_names()) {
        CHECK(press(scope, std::string(1, page.key)));
        CHECK(state.page == page.name);
    }
    state.page = "decoder";
    CHECK_FALSE(press(scope, "Enter"));  // nobody tours
    CHECK(state.tour.step == -1);
    go_to_step(state, 2, 4, 4);
    CHECK(press(scope, "Enter"));
    CHECK(state.tour.step == 3);
    CHECK(press(scope, "Shift Enter"));
    CHECK(state.tour.step == 2);
    const auto told = [&](const char* key) {
        ActionScope one{state, 4, 4};
        CHECK(press(one, key));
        return std::vector<bool>{one.undo, one.redo, one.save, one.close};
    };
    CHECK(told("Ctrl Z") == std::vector<bool>{true, false, false, false});
    CHECK(told("Ctrl Y") == std::vector<bool>{false, true, false, false});
    CHECK(told("F12") == std::vector<bool>{false, false, true, false});
    CHECK(told("Ctrl Q") == std::vector<bool>{false, false, false, true});
}

TEST_CASE("actions: every key that works is in the list of keys of its page", "[viewer][desk]") {
    for (const NamedAction& action : actions()) {
        if (action.key.empty()) continue;
        INFO(action.id);
        const std::vector<KeyLine> lines = key_lines(action.page);
        CHECK(std::any_of(lines.begin(), lines.end(), [&](const KeyLine& line) {
            const std::string keys = "  " + line.keys + "  ";
            return keys.find("  " + action.key + "  ") != std::string::npos &&
                   line.meaning == (action.sheet.empty() ? action.title : action.sheet);
        }));
        CHECK(action_of(key_named(action.key), action.page) == &action);
    }
}

TEST_CASE("actions: no key means two things on one page, no name stands for two", "[viewer][desk]") {
    std::set<std::string> ids, pages = {""};
    for (const PageName& page : page_names()) pages.insert(page.name);
    for (const std::string& page : pages) {
        std::set<std::string> keys;
        for (const NamedAction& action : actions())
            if (action.page == page)
                for (const std::string& key : {action.key, action.also}) {
                    INFO(page << " " << key);
                    CHECK((key.empty() || keys.insert(key).second));
                }
    }
    for (const NamedAction& action : actions()) {
        INFO(action.id);
        CHECK(ids.insert(action.id).second);
        CHECK(pages.count(action.page) == 1);
        CHECK_FALSE(action.title.empty());
        CHECK((action.run || !action.key.empty()));  // a page is given the key
    }
}

TEST_CASE("actions: a key is read as it is printed, and means nothing where it is none", "[viewer][desk]") {
    CHECK(key_named("Ctrl Shift Z") == KeyPress{Key::character, 'z', true, true});
    CHECK(key_named("S") == KeyPress{Key::character, 'S', false, false});
    CHECK(key_named("Shift \u2190") == KeyPress{Key::left, 0, false, true});
    CHECK(key_named("\u2212").character == '-');
    CHECK_THROWS_AS(key_named("Hyper"), Error);
    CHECK_THROWS_AS(key_named(""), Error);
    CHECK(action_of(key_named("x"), "rope")->id == "rope.layout");
    CHECK(action_of(key_named("x"), "permutation")->id == "permutation.sentence");
    CHECK(action_of(key_named("x"), "start") == nullptr);
    CHECK(action_of(key_named("Ctrl Z"), "rope")->id == "undo");
    CHECK(action_of(key_named("Ctrl Shift Z"), "rope")->id == "redo");
    CHECK(action_of({Key::left, 0, false, true}, "attention")->id == "cell.left");  // Shift means nothing there
    CHECK(action_of({Key::left, 0, false, true}, "permutation")->id == "permutation.card.earlier");
}

TEST_CASE("palette: finds actions, pages, tokens, heads, cells, models, sentences and stages", "[viewer][desk]") {
    State state;
    CHECK(after("page rope").page == "rope");
    CHECK(after("layer 1 head 2").layer == 1);
    CHECK(after("layer 1 head 2").head == 2);
    CHECK(after("go 2,1").cell == Cell{2, 1});
    CHECK(after("token mall").cell.i == 2);
    CHECK(after("token mall key").cell.j == 2);
    CHECK(after("theme high").theme == ThemeName::contrast);
    CHECK(after("sentence capital").text == "the capital of france is [MASK].");
    CHECK(after("open tiny-rof").wanted_model == "tiny-roformer");
    CHECK(after("stage 1.p2c").compare.stage == "layer.1.p2c");
    CHECK(titles(state, kScope, "layer 9 head 0").empty());
    CHECK(titles(state, kScope, "go 9,9").empty());
    CHECK(titles(state, kScope, "zzzz").empty());
    CHECK(titles(state, kScope, "go 4,0").empty());
    CHECK(after("go 2,1",
                [] {
                    State open;
                    open.locked = false;
                    return open;
                }())
              .locked);
    state.tokens = "1,2";
    state.mask = "1,1";
    CHECK(after("sentence capital", state).tokens.empty());
    CHECK(after("sentence capital", state).mask.empty());
    CHECK(after("dialect paper").dialect == Dialect::paper);
    CHECK(after("rope: probabilities").rope.shown == 2);
    CHECK(after("rope: probabilities").page == "rope");
    CHECK(after("without memory").memory.memory == 0);
    CHECK(after("permutation sentence 3").permutation.sentence == 2);
    CHECK(after("compare f32 with").compare.b.exact);
    state.page = "rope";  // layer 1 of which model?
    for (const std::string& title : titles(state, kScope, "layer 1 head 2")) CHECK(title != "layer 1 head 2");
    state.recent.models = {"/models/mine"};
    CHECK(titles(state, kScope, "open mine").front() == "open model /models/mine");
}

TEST_CASE("palette: what was used last comes first while nothing is typed", "[viewer][desk]") {
    State state;
    state.recent.commands = {"theme.light", "page.rope", "theme.light", "no longer there"};
    const std::vector<std::string> all = titles(state, kScope, "");
    CHECK(all[0] == "theme light");
    CHECK(all[1] == "page rope");
    CHECK(std::count(all.begin(), all.end(), "page rope") == 1);
    CHECK(std::count(all.begin(), all.end(), "theme light") == 1);
}

TEST_CASE("fuzzy: letters in order, beginnings of words before anything else", "[viewer][desk]") {
    CHECK(fuzzy_score("page attention", "att"));
    CHECK_FALSE(fuzzy_score("page attention", "tap"));
    CHECK(fuzzy_score("page attention", "PA AT") == fuzzy_score("page attention", "paat"));
    CHECK(*fuzzy_score("theme light", "tl") > *fuzzy_score("settle", "tl"));
    CHECK(*fuzzy_score("undo", "undo") > *fuzzy_score("under the open door", "undo"));
    CHECK(*fuzzy_score("zoom in", "in") > *fuzzy_score("explain", "in"));
    CHECK(fuzzy_score("anything", "") == 0);
    CHECK_FALSE(fuzzy_score("", "a"));
    const std::vector<std::string> names = {"cell", "close", "escape", "commands"};
    CHECK(fuzzy_order(names, "c") == std::vector<std::size_t>{0, 1, 3, 2});
    CHECK(fuzzy_order(names, "c", {3}).front() == 0);  // it is shorter, hence better
    CHECK(fuzzy_order(names, "", {3}) == std::vector<std::size_t>{3, 0, 1, 2});
}

}  // namespace locus::test::test_actions

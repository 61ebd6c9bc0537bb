// What the screen remembers has names; a name reads back what it wrote.
#include <catch2/catch.hpp>

#include <set>

#include "core/check.h"
#include "viewer/state_fields.h"

using namespace locus;

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
    refused("view=1,2", "I,J,N");
    CHECK(changed_fields(state).empty());
}

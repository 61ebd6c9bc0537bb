// Scripts as files: what they hold, and how a wrong one is refused.
#include "viewer/automation/script_file.h"

#include <catch2/catch.hpp>

#include "tests/files.h"

namespace locus::test::test_script_file {

namespace {

std::string refusal(const std::string& text) {
    try {
        parse_script(text, "play.json");
    } catch (const Error& error) {
        return std::to_string(error.exit_status()) + " " + error.what();
    }
    return "";
}

/// The one action of a script.
template <class Kind>
Kind only(const std::string& action) {
    const Script script = parse_script("{\"actions\": [" + action + "]}", "play.json");
    REQUIRE(script.actions.size() == 1);
    REQUIRE(std::holds_alternative<Kind>(script.actions[0]));
    return std::get<Kind>(script.actions[0]);
}

}  // namespace

TEST_CASE("script: actions are read as they are written", "[viewer][script]") {
    CHECK(only<SetAction>(R"({"page": "rope"})").name_and_value == "page=rope");
    CHECK(only<SetAction>(R"({"set": "rope.m=7"})").name_and_value == "rope.m=7");
    const auto hover = only<HoverAction>(R"({"hover": {"matrix": "c2p", "cell": [3, 5]}})");
    CHECK(std::get<CellPlace>(hover.at).matrix == "c2p");
    CHECK(std::get<CellPlace>(hover.at).cell == Cell{3, 5});
    const auto click = only<ClickAction>(R"({"click": {"item": "layer/more", "at": [0.1, 0.9]}, "button": "right",
                                             "double": true, "ctrl": true, "shift": true})");
    CHECK(std::get<ItemPlace>(click.at).item == "layer/more");
    CHECK(std::get<ItemPlace>(click.at).y == 0.9);
    CHECK((click.right && click.twice && click.ctrl && click.shift));
    const auto drag = only<DragAction>(R"({"drag": {"from": {"point": [3, 4]}, "to": {"text": "Keys"}}})");
    CHECK(std::get<PointPlace>(drag.from).y == 4);
    CHECK(std::get<TextPlace>(drag.to).text == "Keys");
    CHECK_FALSE(drag.right);
    const auto rotated =
        only<DragAction>(R"({"drag": {"from": "nothing", "to": "nothing"}, "button": "right", "ctrl": true})");
    CHECK((rotated.right && rotated.ctrl && !rotated.shift));
    const auto left = only<ClickAction>(R"({"click": {"item": "a"}, "button": "left", "ctrl": true})");
    CHECK((!left.right && !left.twice && left.ctrl && !left.shift));
    CHECK(std::get<ItemPlace>(left.at).x == 0.5);  // the middle
    CHECK(std::get<ItemPlace>(only<HoverAction>(R"({"hover": {"item": "a", "at": [0.1, 0.9]}})").at).x == 0.1);
    CHECK(only<SetAction>(R"({"text": "a b"})").name_and_value == "text=a b");
    CHECK(only<WheelAction>(R"({"wheel": {"at": "nothing", "steps": -2}})").steps == -2);
    CHECK_FALSE(only<WaitAction>(R"({"wait": "settled"})").seconds);
    CHECK(*only<WaitAction>(R"({"wait": 1.5})").seconds == 1.5);
    CHECK(only<ResizeAction>(R"({"size": [1024, 700]})").height == 700);
    const auto value = only<ValueAssertion>(R"({"assert": {"value": "microscope/sum", "is": 56.25, "within": 0.5}})");
    CHECK(value.is == 56.25);
    CHECK(value.within == 0.5);
    CHECK(only<TextAssertion>(R"({"assert": {"no_text": "x"}})").absent);
    CHECK(only<FieldAssertion>(R"({"assert": {"field": "tokens", "is": ""}})").is.empty());
}

TEST_CASE("script: size, scale and model stand beside the actions", "[viewer][script]") {
    const Script script =
        parse_script(R"({"size": [1920, 1200], "scale": 2, "model": "tiny-v3", "actions": []})", "play.json");
    CHECK(*script.size == "1920x1200");
    CHECK(*script.scale == 2);
    CHECK(*script.model == "tiny-v3");
}

TEST_CASE("script: keys by name", "[viewer][script]") {
    CHECK(parse_key("Ctrl+L") == KeyPress{Key::character, 'l', true, false});
    CHECK(parse_key("L") == KeyPress{Key::character, 'L', false, false});
    CHECK(parse_key("ctrl+shift+c") == KeyPress{Key::character, 'c', true, true});
    CHECK(parse_key("Shift+Left") == KeyPress{Key::left, 0, false, true});
    CHECK(parse_key("Ctrl++") == KeyPress{Key::character, '+', true, false});
    CHECK(parse_key("?") == KeyPress{Key::character, '?', false, false});
    CHECK(parse_key("\u00e9") == KeyPress{Key::character, 0xe9, false, false});
    CHECK(parse_key("ESC") == KeyPress{Key::escape, 0, false, false});
    for (const char* wrong : {"", " ", "\t", "Ctrl+", "Ctrl+ ", "F13", "ab", "Meta+x"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_key(wrong), Error);
    }
}

TEST_CASE("script: a wrong file is refused by file, action, field and what was expected", "[viewer][script]") {
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"all is well", "3 play.json: not valid JSON at byte 1, expected one object"},
        {R"({"actions": [{"dance": 1}]})", "2 play.json: action 1 is {\"dance\":1}, expected one of assert, click"},
        {R"({})", "2 play.json: \"actions\" is missing, expected a list of actions"},
        {R"({"actions": {}})", "2 play.json: \"actions\" is {}, expected a list of actions"},
        {R"({"actions": [{"page": "rope"}, 3]})", "2 play.json: action 2 is 3, expected an object"},
        {R"({"actions": [{"page": ""}]})", "2 play.json: action 1: \"page\" is \"\", expected a text"},
        {R"({"actions": [{"hover": {"matrix": "c2p"}}]})",
         "2 play.json: action 1: \"hover\": \"cell\" is missing, expected row and column: [I, J]"},
        {R"({"actions": [{"hover": {"matrix": "c2p", "cell": [1, -1]}}]})", "\"cell\" is [1,-1]"},
        {R"({"actions": [{"hover": {"matrix": "c2p", "cell": [1, 1e30]}}]})", "\"cell\" is [1,1e+30]"},
        {R"({"actions": [{"hover": {"nowhere": 1}}]})", "expected \"nothing\" or an object with matrix and cell"},
        {R"({"actions": [{"click": "nothing", "button": "middle"}]})",
         "2 play.json: action 1: \"button\" is \"middle\", expected left or right"},
        {R"({"actions": [{"click": "nothing", "twice": true}]})", "a field \"twice\", which means nothing here"},
        {R"({"actions": [{"click": "nothing", "double": 1}]})", "\"double\" is 1, expected true or false"},
        {R"({"actions": [{"hover": {"item": "a", "cell": [1, 2]}}]})", "a field \"cell\", which means nothing here"},
        {R"({"actions": [{"drag": {"from": "nothing", "to": "nothing", "button": "right"}}]})",
         "a field \"button\", which means nothing here"},
        {R"({"actions": [{"wheel": {"at": "nothing", "steps": 1, "ctrl": true}}]})",
         "a field \"ctrl\", which means nothing here"},
        {R"({"actions": [{"assert": {"text": "a", "is": "b"}}]})", "a field \"is\", which means nothing here"},
        {R"({"actions": [{"hover": {"matrix": "c2p", "cell": [1, 2, 3]}}]})", "\"cell\" is [1,2,3]"},
        {R"({"actions": [{"hover": {"matrix": "c2p", "cell": [1, 2.5]}}]})", "\"cell\" is [1,2.5]"},
        {R"({"actions": [{"hover": {"point": [-1, 3]}}]})", "\"point\" is [-1"},
        {R"({"actions": [{"hover": {"matrix": "c2p", "cell": [1, 2000000]}}]})", "\"cell\" is [1,2000000]"},
        {R"({"actions": [{"wait": 61}]})", "\"wait\" is 61"},
        {R"({"actions": [{"size": [9000, 700]}]})", "\"size\" is [9000,700]"},
        {R"({"actions": [{"size": [800, 599]}]})", "\"size\" is [800,599]"},
        {R"({"actions": [{"key": "Hyper"}]})", "2 play.json: action 1: \"Hyper\" is no key, expected"},
        {R"({"actions": [{"wait": -1}]})", "\"wait\" is -1, expected \"settled\" or seconds from 0 to 60"},
        {R"({"actions": [{"size": [100, 700]}]})", "\"size\" is [100,700], expected width and height"},
        {R"({"actions": [{"print": "money"}]})", "\"print\" is \"money\", expected values, fields, texts"},
        {R"({"actions": [{"assert": {"value": "x"}}]})", "\"assert\": \"is\" is missing, expected a number"},
        {R"({"actions": [{"assert": {"value": "x", "is": 1, "within": -1}}]})", "\"within\" is -1"},
        {R"({"actions": [{"assert": {"truth": 1}}]})", "expected an object with field, text, no_text, value"},
        {R"({"actions": [{"assert": {"no_text_clipped": false}}]})", "\"no_text_clipped\" is false, expected true"},
        {R"({"actions": [], "author": "me"})", "2 play.json has a field \"author\", which means nothing here"},
    };
    for (const auto& [text, expected] : wrong) {
        INFO(text);
        CHECK_THAT(refusal(text), Catch::Contains(expected));
    }
}

TEST_CASE("script: a missing file is unreadable", "[viewer][script]") {
    try {
        read_script("/nowhere/play.json");
        FAIL("it was read");
    } catch (const Error& error) {
        CHECK(error.exit_status() == 3);
        CHECK_THAT(error.what(), Catch::Contains("/nowhere/play.json"));
    }
}

}  // namespace locus::test::test_script_file

#include "viewer/automation/script_file.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/io/input_file.h"
#include "core/json_text.h"

namespace locus {

namespace {

using Json = nlohmann::json;

/// One object of the file, read field by field; a field that was not read is an error.
class ActionFields {
public:
    ActionFields(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
        if (!json.is_object()) throw Error(Fault::usage, place_ + " is " + excerpt(json) + ", expected an object");
    }

    const Json* find(const std::string& name) {
        read_.push_back(name);
        const auto found = json_.find(name);
        return found == json_.end() ? nullptr : &*found;
    }
    const Json& require(const std::string& name, const std::string& expected) {
        const Json* found = find(name);
        if (!found) throw Error(Fault::usage, place_ + ": \"" + name + "\" is missing, expected " + expected);
        return *found;
    }
    [[noreturn]] void throw_unreadable(const std::string& name, const Json& found, const std::string& expected) const {
        throw Error(Fault::usage, place_ + ": \"" + name + "\" is " + excerpt(found) + ", expected " + expected);
    }
    std::string text(const std::string& name, const std::string& expected = "a text") {
        const Json& found = require(name, expected);
        if (!found.is_string() || found.get_ref<const std::string&>().empty()) throw_unreadable(name, found, expected);
        return found.get<std::string>();
    }
    double number(const std::string& name, const std::string& expected = "a number") {
        const Json& found = require(name, expected);
        if (!found.is_number()) throw_unreadable(name, found, expected);
        return found.get<double>();
    }
    bool flag(const std::string& name) {
        const Json* found = find(name);
        if (found && !found->is_boolean()) throw_unreadable(name, *found, "true or false");
        return found && found->get<bool>();
    }
    /// [a, b], both at least `low`.
    template <class Number>
    std::pair<Number, Number> pair(const std::string& name, Number low, const std::string& expected) {
        const Json& found = require(name, expected);
        const auto fits = [&](const Json& one) {
            if (std::is_integral_v<Number> ? !one.is_number_integer() : !one.is_number()) return false;
            return one.get<double>() >= static_cast<double>(low) && one.get<double>() < 1e6;
        };
        if (!found.is_array() || found.size() != 2 || !fits(found[0]) || !fits(found[1]))
            throw_unreadable(name, found, expected);
        return {found[0].get<Number>(), found[1].get<Number>()};
    }
    ActionFields inside(const std::string& name, const std::string& expected) {
        const Json& found = require(name, expected);
        if (!found.is_object()) throw_unreadable(name, found, expected);
        return {found, place_ + ": \"" + name + "\""};
    }
    void finish() const {
        for (const auto& [key, value] : json_.items())
            if (std::find(read_.begin(), read_.end(), key) == read_.end())
                throw Error(Fault::usage, place_ + " has a field " + excerpt(key) + ", which means nothing here");
    }
    const std::string& place() const { return place_; }

private:
    const Json& json_;
    std::string place_;
    std::vector<std::string> read_;
};

constexpr const char* kPlaces = "\"nothing\" or an object with matrix and cell, with item, with text or with point";

Place place_of(ActionFields& fields, const std::string& name) {
    const Json& found = fields.require(name, kPlaces);
    if (found == "nothing") return Nowhere{};
    if (!found.is_object()) fields.throw_unreadable(name, found, kPlaces);
    ActionFields inside(found, fields.place() + ": \"" + name + "\"");
    Place place;
    if (found.contains("matrix")) {
        const auto [i, j] = inside.pair<Index>("cell", 0, "row and column: [I, J]");
        place = CellPlace{inside.text("matrix"), {i, j}};
    } else if (found.contains("item")) {
        ItemPlace item{inside.text("item")};
        if (found.contains("at"))
            std::tie(item.x, item.y) = inside.pair<double>("at", 0, "shares of its width and height: [0.5, 0.5]");
        place = item;
    } else if (found.contains("text")) {
        place = TextPlace{inside.text("text")};
    } else if (found.contains("point")) {
        const auto [x, y] = inside.pair<double>("point", 0, "pixels from the left and from the top: [X, Y]");
        place = PointPlace{x, y};
    } else {
        fields.throw_unreadable(name, found, kPlaces);
    }
    inside.finish();
    return place;
}

bool right_button(ActionFields& fields) {
    const Json* found = fields.find("button");
    if (found && *found != "left" && *found != "right") fields.throw_unreadable("button", *found, "left or right");
    return found && *found == "right";
}

Action click(ActionFields& fields) {
    return ClickAction{place_of(fields, "click"), right_button(fields), fields.flag("double"), fields.flag("ctrl"),
                       fields.flag("shift")};
}

Action drag(ActionFields& fields) {
    ActionFields inside = fields.inside("drag", "an object with from and to");
    const Place from = place_of(inside, "from"), to = place_of(inside, "to");
    inside.finish();
    return DragAction{from, to, right_button(fields), fields.flag("ctrl"), fields.flag("shift")};
}

Action wheel(ActionFields& fields) {
    ActionFields inside = fields.inside("wheel", "an object with at and steps");
    const WheelAction action{place_of(inside, "at"), inside.number("steps", "notches of the wheel")};
    inside.finish();
    return action;
}

Action key(ActionFields& fields) {
    try {
        return KeyAction{parse_key(fields.text("key", "a key such as Ctrl+L"))};
    } catch (const Error& error) {
        throw Error(Fault::usage, fields.place() + ": " + error.what());
    }
}

Action wait(ActionFields& fields) {
    const std::string expected = "\"settled\" or seconds from 0 to 60";
    const Json& found = fields.require("wait", expected);
    if (found == "settled") return WaitAction{};
    if (!found.is_number() || found.get<double>() < 0 || found.get<double>() > 60)
        fields.throw_unreadable("wait", found, expected);
    return WaitAction{found.get<double>()};
}

Action resize(ActionFields& fields) {
    const std::string expected = "width and height from [800, 600] to [8192, 8192]";
    const auto [width, height] = fields.pair<int>("size", 600, expected);
    if (width < 800 || width > 8192 || height > 8192) fields.throw_unreadable("size", Json{width, height}, expected);
    return ResizeAction{width, height};
}

Action print(ActionFields& fields) {
    const std::string expected = "values, fields, texts, items, matrices or faults";
    const std::string what = fields.text("print", expected);
    for (const char* known : {"values", "fields", "texts", "items", "matrices", "faults"})
        if (what == known) return PrintAction{what};
    fields.throw_unreadable("print", what, expected);
}

Action assertion(ActionFields& fields) {
    const std::string expected = "an object with field, text, no_text, value or no_text_clipped";
    const Json& found = fields.require("assert", expected);
    ActionFields inside = fields.inside("assert", expected);
    Action action;
    if (found.contains("field")) {
        action = FieldAssertion{inside.text("field"), ""};
        const Json& is = inside.require("is", "the field's value as a text");
        if (!is.is_string()) inside.throw_unreadable("is", is, "the field's value as a text");
        std::get<FieldAssertion>(action).is = is.get<std::string>();
    } else if (found.contains("text")) {
        action = TextAssertion{inside.text("text"), false};
    } else if (found.contains("no_text")) {
        action = TextAssertion{inside.text("no_text"), true};
    } else if (found.contains("value")) {
        ValueAssertion value{inside.text("value"), inside.number("is")};
        if (found.contains("within")) value.within = inside.number("within", "a number from 0");
        if (value.within < 0) inside.throw_unreadable("within", value.within, "a number from 0");
        action = value;
    } else if (found.contains("no_text_clipped")) {
        if (!inside.flag("no_text_clipped")) inside.throw_unreadable("no_text_clipped", false, "true");
        action = LayoutAssertion{};
    } else {
        fields.throw_unreadable("assert", found, expected);
    }
    inside.finish();
    return action;
}

/// What an action may do, by the field that names it.
const std::map<std::string, Action (*)(ActionFields&)>& verbs() {
    static const std::map<std::string, Action (*)(ActionFields&)> all = {
        {"page", [](ActionFields& f) -> Action { return SetAction{"page=" + f.text("page")}; }},
        {"text", [](ActionFields& f) -> Action { return SetAction{"text=" + f.text("text")}; }},
        {"set", [](ActionFields& f) -> Action { return SetAction{f.text("set", "NAME=VALUE, as of --set")}; }},
        {"hover", [](ActionFields& f) -> Action { return HoverAction{place_of(f, "hover")}; }},
        {"click", click},
        {"drag", drag},
        {"wheel", wheel},
        {"key", key},
        {"type", [](ActionFields& f) -> Action { return TypeAction{f.text("type")}; }},
        {"drop", [](ActionFields& f) -> Action { return DropAction{f.text("drop", "a file or a folder")}; }},
        {"wait", wait},
        {"size", resize},
        {"screenshot", [](ActionFields& f) -> Action { return ScreenshotAction{f.text("screenshot", "a PNG file")}; }},
        {"print", print},
        {"assert", assertion},
    };
    return all;
}

Action action_of(const Json& json, const std::string& place) {
    ActionFields fields(json, place);
    const auto verb =
        std::find_if(verbs().begin(), verbs().end(), [&](const auto& known) { return json.contains(known.first); });
    if (verb == verbs().end()) {
        std::string expected;
        for (const auto& [name, read] : verbs()) expected += (expected.empty() ? "" : ", ") + name;
        throw Error(Fault::usage, place + " is " + excerpt(json) + ", expected one of " + expected);
    }
    Action action = verb->second(fields);
    fields.finish();
    return action;
}

}  // namespace

Script parse_script(std::string_view text, const std::string& file) {
    const Json json = parse_json_object(text, file);
    ActionFields fields(json, file);
    Script script;
    script.file = file;
    if (fields.find("size")) {
        const auto [width, height] = fields.pair<int>("size", 600, "width and height: [1280, 800]");
        script.size = std::to_string(width) + "x" + std::to_string(height);
    }
    if (fields.find("scale")) script.scale = fields.number("scale");
    if (fields.find("model")) script.model = fields.text("model");
    const Json& actions = fields.require("actions", "a list of actions");
    if (!actions.is_array()) fields.throw_unreadable("actions", actions, "a list of actions");
    fields.finish();
    for (const Json& action : actions)
        script.actions.push_back(action_of(action, file + ": action " + std::to_string(script.actions.size() + 1)));
    return script;
}

Script read_script(const std::filesystem::path& file) {
    const MappedFile bytes(file);
    return parse_script({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
}

}  // namespace locus

#include "viewer/automation/automation.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/json_text.h"
#include "viewer/automation/frame_reader.h"
#include "viewer/automation/simulated_input.h"
#include "viewer/state/state_fields.h"

namespace locus {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kSeenFor = 0.4;  // seconds that a window shows every step

/// What was expected is not there.
struct Mismatch {
    std::string sentence;
};

std::string exact(double value) { return json_number(value).dump(); }

template <class Named>
std::string names_of(const std::vector<Named>& all) {
    std::string names;
    for (const Named& one : all) names += (names.empty() ? "" : ", ") + one.id;
    return names.empty() ? "none" : names;
}

/// Plays one action after another.
class Player {
public:
    Player(Window& window, App& app, bool visible, const std::function<void(const std::string&)>& print)
        : window_(window), app_(app), visible_(visible), print_(print), hands_(window, app, visible) {}

    void play(const Action& action) {
        settle(/*beside_runs=*/true);
        std::visit([this](const auto& one) { act(one); }, action);
        if (visible_) hands_.wait(kSeenFor);
        if (!app_.escaped().empty()) throw Mismatch{"an error came out of the page: " + app_.escaped()};
    }

private:
    void settle(bool beside_runs) {
        if (!hands_.settle(beside_runs))
            throw Mismatch{"expected everything on screen within a minute, found an answer still on its way"};
    }
    ImVec2 spot(const Place& place) const {
        return std::visit([this](const auto& one) { return at(one); }, place);
    }
    ImVec2 at(const Nowhere&) const { return {-1000, -1000}; }
    ImVec2 at(const PointPlace& place) const { return {static_cast<float>(place.x), static_cast<float>(place.y)}; }
    ImVec2 at(const CellPlace& place) const;
    ImVec2 at(const ItemPlace& place) const;
    ImVec2 at(const TextPlace& place) const;

    void act(const SetAction& action) { set_field(app_.state(), action.name_and_value); }
    void act(const HoverAction& action) { hands_.move(spot(action.at)); }
    void act(const ClickAction& action) {
        hands_.click(spot(action.at), {action.right, action.twice, action.ctrl, action.shift});
    }
    void act(const DragAction& action) {
        hands_.drag(spot(action.from), spot(action.to), {action.right, false, action.ctrl, action.shift});
    }
    void act(const WheelAction& action) { hands_.turn_wheel(spot(action.at), static_cast<float>(action.steps)); }
    void act(const KeyAction& action) { hands_.press(action.key); }
    void act(const TypeAction& action) { hands_.type(action.text); }
    void act(const DropAction& action) { app_.state().dropped.push_back(action.path); }
    void act(const WaitAction& action) {
        if (action.seconds)
            hands_.wait(*action.seconds);
        else
            settle(/*beside_runs=*/false);
    }
    void act(const ResizeAction& action) { hands_.resize(action.width, action.height); }
    void act(const ScreenshotAction& action) { app_.save_picture(action.file.string()); }
    void act(const PrintAction& action);
    void act(const FieldAssertion& expected) const;
    void act(const TextAssertion& expected) const;
    void act(const ValueAssertion& expected) const;
    void act(const LayoutAssertion&) const;

    Window& window_;
    App& app_;
    bool visible_;
    const std::function<void(const std::string&)>& print_;
    SimulatedInput hands_;
};

ImVec2 Player::at(const CellPlace& place) const {
    const MatrixItem* matrix = hands_.seen().matrix(place.matrix);
    if (!matrix)
        throw Mismatch{"expected a matrix \"" + place.matrix + "\", found " + names_of(hands_.seen().matrices)};
    if (place.cell.i >= matrix->rows || place.cell.j >= matrix->cols)
        throw Mismatch{"expected a cell of \"" + place.matrix + "\", which has " + std::to_string(matrix->rows) +
                       " rows and " + std::to_string(matrix->cols) + " columns, found [" +
                       std::to_string(place.cell.i) + ", " + std::to_string(place.cell.j) + "]"};
    const ImVec2 centre = matrix->centre_of(place.cell.i, place.cell.j);
    if (!matrix->box.holds({centre, centre}))
        throw Mismatch{"expected cell [" + std::to_string(place.cell.i) + ", " + std::to_string(place.cell.j) +
                       "] of \"" + place.matrix + "\" in sight, found it outside the part that is shown"};
    return centre;
}

ImVec2 Player::at(const ItemPlace& place) const {
    const Item* item = hands_.seen().item(place.item);
    if (!item) throw Mismatch{"expected an item \"" + place.item + "\", found " + names_of(hands_.seen().items)};
    const ImVec2 size{item->box.max.x - item->box.min.x, item->box.max.y - item->box.min.y};
    return {item->box.min.x + size.x * static_cast<float>(place.x),
            item->box.min.y + size.y * static_cast<float>(place.y)};
}

ImVec2 Player::at(const TextPlace& place) const {
    const std::vector<SeenLine> lines = seen_lines(hands_.seen());
    const SeenLine* line = find_line(lines, place.text);
    if (!line) throw Mismatch{"expected the text \"" + place.text + "\", found it nowhere on screen"};
    return {(line->box.min.x + line->box.max.x) / 2, (line->box.min.y + line->box.max.y) / 2};
}

void Player::act(const PrintAction& action) {
    Json all = action.what == "texts" || action.what == "faults" ? Json::array() : Json::object();
    const DrawRecorder& seen = hands_.seen();
    const auto corners = [](const Corners& box) { return Json{box.min.x, box.min.y, box.max.x, box.max.y}; };
    if (action.what == "values")
        for (const NamedValue& value : seen.values) all[value.id] = json_number(value.value);
    if (action.what == "fields")
        for (const StateField& field : state_fields()) all[field.name] = field.get(app_.state());
    if (action.what == "items")
        for (const Item& item : seen.items) all[item.id] = corners(item.box);
    if (action.what == "matrices")
        for (const MatrixItem& matrix : seen.matrices)
            all[matrix.id] = {{"rows", matrix.rows}, {"cols", matrix.cols}, {"box", corners(matrix.box)}};
    if (action.what == "texts")
        for (const SeenLine& line : seen_lines(seen)) all.push_back(line.text);
    if (action.what == "faults") all = layout_faults(seen, window_.size());
    print_(Json{{action.what, all}}.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Player::act(const FieldAssertion& expected) const {
    const std::string found = state_field(expected.name).get(app_.state());
    if (found != expected.is)
        throw Mismatch{"expected " + expected.name + " to be \"" + expected.is + "\", found \"" + found + "\""};
}

void Player::act(const TextAssertion& expected) const {
    const std::vector<SeenLine> lines = seen_lines(hands_.seen());
    const SeenLine* line = find_line(lines, expected.text);
    if (expected.absent && line)
        throw Mismatch{"expected no text \"" + expected.text + "\", found \"" + line->text + "\""};
    if (!expected.absent && !line)
        throw Mismatch{"expected the text \"" + expected.text + "\", found it nowhere on screen"};
}

void Player::act(const ValueAssertion& expected) const {
    const NamedValue* found = hands_.seen().value(expected.name);
    if (!found) throw Mismatch{"expected a value \"" + expected.name + "\", found " + names_of(hands_.seen().values)};
    if (!(std::abs(found->value - expected.is) <= expected.within))
        throw Mismatch{"expected " + expected.name + " to be " + exact(expected.is) +
                       (expected.within > 0 ? " within " + exact(expected.within) : "") + ", found " +
                       exact(found->value)};
}

void Player::act(const LayoutAssertion&) const {
    const std::vector<std::string> faults = layout_faults(hands_.seen(), window_.size());
    if (faults.empty()) return;
    std::string all;
    for (const std::string& fault : faults) all += (all.empty() ? "" : "; ") + fault;
    throw Mismatch{"expected a page of " + app_.state().page + " on which everything fits, found " +
                   std::to_string(faults.size()) + " faults: " + all};
}

}  // namespace

std::optional<std::string> play_script(const Script& script, Window& window, App& app, bool visible,
                                       const std::function<void(const std::string&)>& print) {
    Player player(window, app, visible, print);
    for (std::size_t n = 0; n < script.actions.size(); ++n) {
        const std::string place = script.file + ": action " + std::to_string(n + 1);
        try {
            player.play(script.actions[n]);
        } catch (const Mismatch& mismatch) {
            return place + ": " + mismatch.sentence;
        } catch (const Error& error) {
            throw Error(error.fault(), place + ": " + error.what());
        }
    }
    return std::nullopt;
}

}  // namespace locus

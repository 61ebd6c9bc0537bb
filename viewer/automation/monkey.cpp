#include "viewer/automation/automation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "viewer/automation/simulated_input.h"
#include "viewer/state/state_fields.h"

namespace locus {

namespace {

/// Texts that people paste and that programs stumble over.
const std::vector<std::string>& odd_texts() {
    static const std::vector<std::string> texts = [] {
        std::vector<std::string> all = {"a",
                                        " ",
                                        "   ",
                                        ".",
                                        "[MASK]",
                                        "[MASK] [MASK] [MASK]",
                                        "the capital of france is [MASK].",
                                        "발 없는 말이 천리 간다.",
                                        "千里之行始於足下",
                                        "שלום עולם",
                                        "مرحبا بالعالم",
                                        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family",
                                        "e\u0301\u0301\u0301\u0301 stacked",
                                        "\x01\x02\x1b[31m control \x7f",
                                        "tab\tand\nline",
                                        "\xff\xfe broken \xc3",
                                        "\u202ereversed\u202c",
                                        "[CLS] [SEP] [UNK]",
                                        "0 1 2 3 4 5 6 7 8 9",
                                        "go 3,5",
                                        "layer 3 head 2",
                                        "page rope",
                                        "supercalifragilisticexpialidocious"};
        std::string long_text, long_word;
        for (int n = 0; n < 90; ++n) long_text += "the new store opened beside the old one ";
        for (int n = 0; n < 300; ++n) long_word += "ab";
        all.push_back(long_text);
        all.push_back(long_word);
        return all;
    }();
    return texts;
}

class Monkey {
public:
    Monkey(const MonkeySetup& setup, Window& window, App& app)
        : setup_(setup), window_(window), app_(app), hands_(window, app, false), random_(setup.seed) {}

    MonkeyReport play();

private:
    struct Habit {
        const char* name;
        int weight;
        void (Monkey::*act)();
    };

    std::size_t below(std::size_t count) {
        return static_cast<std::size_t>(random_() % std::max<std::size_t>(1, count));
    }
    bool once_in(std::size_t count) { return below(count) == 0; }
    template <class List>
    const auto& one_of(const List& list) {
        return list[below(std::size(list))];
    }
    float share() { return static_cast<float>(below(10001)) / 10000; }

    ImVec2 any_point();
    /// In something that reacts to the mouse, where there is such a thing.
    ImVec2 item_point();
    ClickStyle any_style() { return {once_in(6), once_in(5), once_in(12), once_in(6)}; }

    void click_item() { hands_.click(item_point(), any_style()); }
    void click_anywhere() { hands_.click(any_point(), any_style()); }
    void hover() { hands_.move(once_in(3) ? any_point() : item_point()); }
    void turn() { hands_.turn_wheel(item_point(), static_cast<float>(below(7)) - 3); }
    void drag() {
        const ImVec2 from = item_point(), to = once_in(2) ? any_point() : item_point();
        hands_.drag(from, to, any_style());
    }
    void press_key();
    void type_something();
    void write_sentence();
    void paste();
    void resize();
    void change_size() {
        const char32_t keys[] = {'+', '-', '0', '+'};
        hands_.press({Key::character, one_of(keys), true, false});
    }
    void settle() { stuck_ = stuck_ || !hands_.settle(); }
    void let_time_pass() { hands_.wait(0.2); }

    void stay_on_pages();
    std::optional<std::string> fault() const;

    const MonkeySetup& setup_;
    Window& window_;
    App& app_;
    SimulatedInput hands_;
    std::mt19937_64 random_;
    bool stuck_ = false;
};

ImVec2 Monkey::any_point() {
    const ImVec2 size = window_.size();
    return {(share() * 1.04f - 0.02f) * size.x, (share() * 1.04f - 0.02f) * size.y};
}

ImVec2 Monkey::item_point() {
    const auto& items = hands_.seen().items;
    if (items.empty()) return any_point();
    const Item& item = one_of(items);
    return {item.box.min.x + share() * (item.box.max.x - item.box.min.x),
            item.box.min.y + share() * (item.box.max.y - item.box.min.y)};
}

void Monkey::press_key() {
    constexpr Key kKeys[] = {Key::left, Key::right, Key::up,        Key::down,   Key::escape, Key::space, Key::enter,
                             Key::tab,  Key::left,  Key::backspace, Key::remove, Key::home,   Key::end,   Key::escape};
    KeyPress press{one_of(kKeys)};
    press.shift = once_in(4);
    press.ctrl = once_in(8);
    if (once_in(400)) press = {Key::f12};
    if (once_in(2)) {
        const std::string_view all = "0123456789[],.dtfxibysSmMnNpPoOrcCIBY+-=?/lzgkhvuaeqw(){}<>:;'\"!@#$%^&*_~`|\\";
        press = {Key::character, static_cast<char32_t>(one_of(all)), false, false};
    }
    if (once_in(8))
        press = {Key::character, static_cast<char32_t>(one_of(std::string_view("lpzyacxvef"))), true, once_in(2)};
    hands_.press(press);
}

void Monkey::type_something() {
    std::string text = one_of(odd_texts());
    if (text.size() > 60) text.resize(60);
    hands_.type(text);
    if (once_in(2)) hands_.press({Key::enter});
}

void Monkey::write_sentence() {
    if (!app_.state().editing) hands_.press({Key::character, 'l', true, false});
    hands_.draw();
    if (once_in(2)) hands_.press({Key::character, 'a', true, false});
    type_something();
    hands_.press(once_in(4) ? KeyPress{Key::escape} : KeyPress{Key::enter});
}

void Monkey::paste() {
    if (!app_.state().editing) hands_.press({Key::character, 'l', true, false});
    hands_.draw();
    hands_.press({Key::character, 'a', true, false});
    ImGui::SetClipboardText(one_of(odd_texts()).c_str());
    hands_.press({Key::character, 'v', true, false});
    hands_.press({Key::enter});
    if (app_.state().text.size() > 1000 && !once_in(3)) app_.state().text = State().text;  // seldom so slow
}

void Monkey::resize() { hands_.resize(800 + static_cast<int>(below(900)), 600 + static_cast<int>(below(600))); }

void Monkey::stay_on_pages() {
    if (setup_.pages.empty()) return;
    if (std::find(setup_.pages.begin(), setup_.pages.end(), app_.state().page) == setup_.pages.end())
        app_.state().page = one_of(setup_.pages);
}

bool finite(const Corners& box) {
    return std::isfinite(box.min.x) && std::isfinite(box.min.y) && std::isfinite(box.max.x) && std::isfinite(box.max.y);
}

std::optional<std::string> Monkey::fault() const {
    if (!app_.escaped().empty()) return "an error came out of the page: " + app_.escaped();
    if (stuck_) return "an answer was still on its way after a minute";
    for (const StateField& field : state_fields()) {
        const std::string value = field.get(app_.state());
        const bool words = field.name == "text" || field.name == "tokens" || field.name == "mask";
        if (!words && (value.find("nan") != std::string::npos || value.find("inf") != std::string::npos))
            return field.name + " became " + value;
    }
    for (const Mark& mark : hands_.seen().marks) {
        const auto* text = std::get_if<TextMark>(&mark.shape);
        const auto* rect = std::get_if<RectMark>(&mark.shape);
        if (text && !finite(text->box)) return "the text \"" + text->text + "\" stands nowhere";
        if (rect && !finite(rect->box)) return "a rectangle lies nowhere";
    }
    for (const Item& item : hands_.seen().items)
        if (!finite(item.box)) return "the place \"" + item.id + "\" lies nowhere";
    return std::nullopt;
}

MonkeyReport Monkey::play() {
    constexpr Habit kHabits[] = {{"click an item", 30, &Monkey::click_item},
                                 {"click anywhere", 6, &Monkey::click_anywhere},
                                 {"hover", 10, &Monkey::hover},
                                 {"wheel", 8, &Monkey::turn},
                                 {"drag", 8, &Monkey::drag},
                                 {"key", 24, &Monkey::press_key},
                                 {"type", 3, &Monkey::type_something},
                                 {"write", 2, &Monkey::write_sentence},
                                 {"paste", 2, &Monkey::paste},
                                 {"resize", 1, &Monkey::resize},
                                 {"zoom", 2, &Monkey::change_size},
                                 {"settle", 3, &Monkey::settle},
                                 {"wait", 1, &Monkey::let_time_pass}};
    const auto start = std::chrono::steady_clock::now();
    std::map<std::string, long> done, pages;
    MonkeyReport report;
    app_.state().training.steps = 4;  // a minute each time would be long
    window_.paint_every(10);          // painting costs most of a frame, and goes wrong in the first picture or in none
    settle();
    for (long n = 0; n < setup_.actions && !report.fault; ++n) {
        stay_on_pages();
        int at = static_cast<int>(below(100));
        const Habit* habit = kHabits;
        while (at >= habit->weight) at -= (habit++)->weight;
        (this->*habit->act)();
        ++done[habit->name];
        ++pages[app_.state().page];
        if (const auto found = fault())
            report.fault = "seed " + std::to_string(setup_.seed) + ", action " + std::to_string(n + 1) + " (" +
                           habit->name + " on the page " + app_.state().page + "): " + *found;
    }
    window_.paint_every(1);
    hands_.settle();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    report.summary =
        nlohmann::ordered_json{{"seed", setup_.seed}, {"actions", done}, {"pages", pages}, {"seconds", seconds.count()}}
            .dump();
    return report;
}

}  // namespace

MonkeyReport let_monkey_play(const MonkeySetup& setup, Window& window, App& app) {
    return Monkey(setup, window, app).play();
}

}  // namespace locus

#include "viewer/state/actions.h"

#include <algorithm>
#include <cmath>

#include "viewer/state/page_actions.h"
#include "viewer/state/page_names.h"

namespace locus {

namespace {

using Run = std::function<bool(ActionScope&)>;

/// For actions that always apply.
template <class Change>
Run always(Change change) {
    return [change](ActionScope& scope) {
        change(scope);
        return true;
    };
}

Run zoom_by(float factor) {
    return always([factor](ActionScope& scope) {
        float& zoom = scope.state.zoom;
        zoom = factor == 0 ? 1.0f : std::clamp(std::round(zoom * factor * 20) / 20, 0.5f, 4.0f);
    });
}

/// Pages with a layer and a head of their own move those themselves.
Run step_layer(Index by) {
    return [by](ActionScope& scope) {
        if (has_own_head(scope.state.page)) return false;
        scope.state.layer = std::clamp<Index>(scope.state.layer + by, 0, scope.layers - 1);
        return true;
    };
}

Run step_head(Index by) {
    return [by](ActionScope& scope) {
        State& state = scope.state;
        if (has_own_head(state.page)) return false;
        const bool mean = state.page == "decoder";  // it begins with the mean of all heads
        Index& head = mean ? state.decoder_head : state.head;
        head = std::clamp<Index>(head + by, mean ? -1 : 0, scope.heads - 1);
        return true;
    };
}

bool next_dialect(ActionScope& scope) {
    State& state = scope.state;
    if (has_own_head(state.page)) return false;
    state.dialect = state.dialect == Dialect::paper      ? Dialect::official
                    : state.dialect == Dialect::official ? Dialect::hf
                                                         : Dialect::paper;
    return true;
}

void next_pooling(ActionScope& scope) {
    constexpr const char* kWords[] = {"the mean of them", "the one farthest from 0", "the greatest", "the least"};
    scope.state.pooling = static_cast<Pooling>((static_cast<std::size_t>(scope.state.pooling) + 1) % std::size(kWords));
    scope.state.notice = std::string("Where a pixel covers several cells it shows ") +
                         kWords[static_cast<std::size_t>(scope.state.pooling)] + ".";
}

void next_theme(ActionScope& scope) {
    scope.state.theme =
        static_cast<ThemeName>((static_cast<std::size_t>(scope.state.theme) + 1) % std::size(kThemeNames));
}

void escape(ActionScope& scope) {
    State& state = scope.state;
    if (state.key_sheet || state.palette || state.editing || state.exports.open)
        state.key_sheet = state.palette = state.editing = state.exports.open = false;
    else if (state.tour.step >= 0)
        end_tour(state);
    else if (state.page == "attention" && !state.attention.selection.empty())
        state.attention.selection = {};
    else
        state.locked = state.positions.locked = state.memory.locked = state.permutation.locked = state.compare.locked =
            state.text_page.locked = state.training.locked = false;
}

/// Only while somebody tours.
Run step_tour(Index by) {
    return [by](ActionScope& scope) {
        if (scope.state.tour.step < 0) return false;
        go_to_step(scope.state, scope.state.tour.step + by, scope.layers, scope.heads);
        return true;
    };
}

void add_frame_actions(std::vector<NamedAction>& all) {
    for (const PageName& known : page_names()) {
        const std::string page = known.name;
        all.push_back({"page." + page, "page " + page, "", {known.key}, "", "pages", always([page](ActionScope& scope) {
                           scope.state.page = page;
                       })});
    }
    const std::vector<NamedAction> frame = {
        {"layer.less", "layer before", "", "[", "", "layer before, after", step_layer(-1)},
        {"layer.more", "layer after", "", "]", "", "layer before, after", step_layer(1)},
        {"head.less", "head before", "", ",", "", "head before, after", step_head(-1)},
        {"head.more", "head after", "", ".", "", "head before, after", step_head(1)},
        {"cell.left", "cell to the left", "", "\u2190", "", "move the cell", nullptr},
        {"cell.up", "cell above", "", "\u2191", "", "move the cell", nullptr},
        {"cell.down", "cell below", "", "\u2193", "", "move the cell", nullptr},
        {"cell.right", "cell to the right", "", "\u2192", "", "move the cell", nullptr},
        {"cell.lock", "lock or unlock the cell", "", "Space", "", "", nullptr},
        {"view.in", "zoom the matrices in", "", "+", "=", "zoom the matrices in, out, fit", nullptr},
        {"view.out", "zoom the matrices out", "", "\u2212", "", "zoom the matrices in, out, fit", nullptr},
        {"view.fit", "fit the matrices", "", "f", "", "zoom the matrices in, out, fit", nullptr},
        {"text.write", "write the sentence", "", "Ctrl L", "", "write the sentence; Enter or Esc returns",
         always([](ActionScope& scope) { scope.state.editing = !scope.state.editing; })},
        {"dialect.next", "next dialect", "", "d", "", "next dialect: paper, official, hf", next_dialect},
        {"undo", "undo", "", "Ctrl Z", "", "undo, redo", always([](ActionScope& scope) { scope.undo = true; })},
        {"redo", "redo", "", "Ctrl Y", "Ctrl Shift Z", "undo, redo",
         always([](ActionScope& scope) { scope.redo = true; })},
        {"pooling.next", "what a pixel shows of the cells it covers", "", "l", "",
         "a pixel's cells: largest, mean, \u2026", always(next_pooling)},
        {"theme.next", "next theme", "", "t", "", "dark, light, high contrast", always(next_theme)},
        {"zoom.in", "everything larger", "", "Ctrl +", "Ctrl =", "size of everything", zoom_by(1.1f)},
        {"zoom.out", "everything smaller", "", "Ctrl \u2212", "", "size of everything", zoom_by(1 / 1.1f)},
        {"zoom.reset", "everything in its own size", "", "Ctrl 0", "", "size of everything", zoom_by(0)},
        {"palette", "commands", "", "Ctrl P", "", "commands by name",
         always([](ActionScope& scope) { scope.state.palette = !scope.state.palette; })},
        {"export", "export a figure or its numbers", "", "Ctrl E", "", "",
         always([](ActionScope& scope) { scope.state.exports.open = !scope.state.exports.open; })},
        {"command.copy", "copy the command of this screen", "", "Ctrl Shift C", "", "",
         always([](ActionScope& scope) { scope.state.exports.copies = true; })},
        {"tour.next", "next step of the tour", "", "Enter", "", "while you tour: on, back", step_tour(1)},
        {"tour.back", "previous step of the tour", "", "Shift Enter", "", "while you tour: on, back", step_tour(-1)},
        {"picture.save", "save a picture of this page", "", "F12", "", "",
         always([](ActionScope& scope) { scope.save = true; })},
        {"escape", "close, stop, unlock", "", "Esc", "", "", always(escape)},
        {"keys", "keys", "", "?", "", "this sheet", always([](ActionScope& scope) { scope.state.key_sheet = true; })},
        {"motion", "more or less motion", "", "", "", "", always([](ActionScope& scope) {
             scope.state.reduce_motion = !scope.state.reduce_motion;
             scope.state.notice =
                 scope.state.reduce_motion ? "nothing moves by itself any more" : "things may move by themselves";
         })},
        {"quit", "quit", "", "Ctrl Q", "", "", always([](ActionScope& scope) { scope.close = true; })},
    };
    all.insert(all.end(), frame.begin(), frame.end());
}

bool is_key(const NamedAction& action, const KeyPress& press) {
    return (!action.key.empty() && same_key(press, key_named(action.key))) ||
           (!action.also.empty() && same_key(press, key_named(action.also)));
}

}  // namespace

const std::vector<NamedAction>& actions() {
    static const std::vector<NamedAction> all = [] {
        std::vector<NamedAction> list;
        add_frame_actions(list);
        add_page_actions(list);
        return list;
    }();
    return all;
}

const NamedAction* action_of(const KeyPress& press, const std::string& page) {
    // Shift with an arrow is that arrow where it means nothing of its own.
    KeyPress plain = press;
    if (press.key != Key::character) plain.shift = false;
    for (const KeyPress& tried : {press, plain})
        for (const std::string& where : {page, std::string()})
            for (const NamedAction& action : actions())
                if (action.page == where && is_key(action, tried)) return &action;
    return nullptr;
}

std::vector<SheetLine> sheet_lines(const std::string& page) {
    std::vector<SheetLine> lines;
    const NamedAction* before = nullptr;
    for (const NamedAction& action : actions()) {
        if (action.page != page || action.key.empty()) continue;
        const std::string meaning = action.sheet.empty() ? action.title : action.sheet;
        if (before && !action.sheet.empty() && before->sheet == action.sheet)
            lines.back().keys += "  " + action.key;
        else
            lines.push_back({action.key, meaning});
        if (!action.also.empty()) lines.back().keys += "  " + action.also;
        before = &action;
    }
    return lines;
}

}  // namespace locus

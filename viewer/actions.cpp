#include "viewer/actions.h"

#include <algorithm>
#include <cmath>

#include "viewer/page_names.h"

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

void next_theme(ActionScope& scope) {
    scope.state.theme =
        static_cast<ThemeName>((static_cast<std::size_t>(scope.state.theme) + 1) % std::size(kThemeNames));
}

void escape(ActionScope& scope) {
    State& state = scope.state;
    if (state.key_sheet || state.palette || state.editing)
        state.key_sheet = state.palette = state.editing = false;
    else
        state.locked = state.positions.locked = state.memory.locked = state.compare.locked = state.text_page.locked =
            false;
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
        {"theme.next", "next theme", "", "t", "", "dark, light, high contrast", always(next_theme)},
        {"zoom.in", "everything larger", "", "Ctrl +", "Ctrl =", "size of everything", zoom_by(1.1f)},
        {"zoom.out", "everything smaller", "", "Ctrl \u2212", "", "size of everything", zoom_by(1 / 1.1f)},
        {"zoom.reset", "everything in its own size", "", "Ctrl 0", "", "size of everything", zoom_by(0)},
        {"palette", "commands", "", "Ctrl P", "", "commands by name",
         always([](ActionScope& scope) { scope.state.palette = !scope.state.palette; })},
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

/// The pages' own keys, which the pages read themselves.
void add_page_actions(std::vector<NamedAction>& all) {
    const auto page = [&](const std::string& name, const std::vector<std::vector<std::string>>& keys) {
        for (const std::vector<std::string>& key : keys)
            all.push_back({name + "." + key[0], key[1], name, key[2], "", key.size() > 3 ? key[3] : "", nullptr});
    };
    page("positions", {{"kind", "clamp or log buckets", "x"}});
    page("attention", {{"term", "next term in the microscope", "Tab"}});
    page("decoder", {{"weaker", "weaker absolute positions", "i", "strength of I down, up"},
                     {"stronger", "stronger absolute positions", "I", "strength of I down, up"}});
    page("rope", {{"query.less", "query one position back", "\u2190", "position of the query"},
                  {"query.more", "query one position on", "\u2192", "position of the query"},
                  {"key.more", "key one position on", "\u2191", "position of the key"},
                  {"key.less", "key one position back", "\u2193", "position of the key"},
                  {"shift.more", "shift both on", "s", "shift both forth, back"},
                  {"shift.less", "shift both back", "S", "shift both forth, back"},
                  {"layout", "interleaved or half-split", "x"},
                  {"base", "next base", "b", "next base, next scaling"},
                  {"scaling", "next scaling", "y", "next base, next scaling"}});
    page("transformer-xl", {{"memory.less", "shorter memory", "m", "memory shorter, longer"},
                            {"memory.more", "longer memory", "M", "memory shorter, longer"},
                            {"play", "play or stop the film of the shift", "p"},
                            {"frame.more", "next frame of the film", "n", "frame after, before"},
                            {"frame.less", "previous frame of the film", "N", "frame after, before"}});
    page("permutation", {{"card.less", "card before", "\u2190", "choose a card"},
                         {"card.more", "card after", "\u2192", "choose a card"},
                         {"card.earlier", "move the card forward", "Shift \u2190", "move the card"},
                         {"card.later", "move the card back", "Shift \u2192", "move the card"},
                         {"row.less", "explain the row above", "\u2191", "row that is explained"},
                         {"row.more", "explain the row below", "\u2193", "row that is explained"},
                         {"order", "next order", "o", "next order; the other way round"},
                         {"reverse", "order the other way round", "r", "next order; the other way round"},
                         {"sentence", "next sentence", "x"}});
    page("text",
         {{"weights", "counts or tf\u00b7idf", "x", "counts or tf\u00b7idf; stop words or not"},
          {"stop", "with or without stop words", "w", "counts or tf\u00b7idf; stop words or not"},
          {"documents.left", "compare with the document to the left", "\u2190", "other documents are compared"},
          {"documents.up", "compare with the document above", "\u2191", "other documents are compared"},
          {"documents.down", "compare with the document below", "\u2193", "other documents are compared"},
          {"documents.right", "compare with the document to the right", "\u2192", "other documents are compared"},
          {"word.less", "word before", ",", "word before, after"},
          {"word.more", "word after", ".", "word before, after"},
          {"topics.less", "fewer topics", "[", "fewer, more topics"},
          {"topics.more", "more topics", "]", "fewer, more topics"}});
    page("compare", {{"worst", "next worst cell", "n"},
                     {"stage.more", "stage after", "s", "stage after, before"},
                     {"stage.less", "stage before", "S", "stage after, before"},
                     {"case.more", "next case of the report", "c", "case of the report after, before"},
                     {"case.less", "previous case of the report", "C", "case of the report after, before"},
                     {"dialect", "next dialect of B", "d"}});
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

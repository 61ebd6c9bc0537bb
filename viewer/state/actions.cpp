#include "viewer/state/actions.h"

#include <algorithm>
#include <cmath>

#include "viewer/pages/page_names.h"

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
    if (has_own_head(state.page) && state.page != "permutation") return false;
    state.dialect = state.dialect == Dialect::paper      ? Dialect::official
                    : state.dialect == Dialect::official ? Dialect::hf
                                                         : Dialect::paper;
    return true;
}

void next_pooling(ActionScope& scope) {
    constexpr const char* kPooling[] = {"the mean of them", "the one farthest from 0", "the greatest", "the least"};
    scope.state.pooling =
        static_cast<Pooling>((static_cast<std::size_t>(scope.state.pooling) + 1) % std::size(kPooling));
    scope.state.notice = std::string("Where a pixel covers several cells it shows ") +
                         kPooling[static_cast<std::size_t>(scope.state.pooling)] + ".";
}

void next_theme(ActionScope& scope) {
    scope.state.theme =
        static_cast<ThemeName>((static_cast<std::size_t>(scope.state.theme) + 1) % std::size(kThemeNames));
}

void escape(ActionScope& scope) {
    State& state = scope.state;
    if (state.key_overlay || state.palette || state.editing || state.exports.open)
        state.key_overlay = state.palette = state.editing = state.exports.open = false;
    else if (state.tour.step >= 0)
        end_tour(state);
    else if (state.page == "attention" && !state.attention.selection.empty())
        state.attention.selection = {};
    else
        state.locked = state.positions.locked = state.memory.locked = state.permutation.locked = state.compare.locked =
            state.text_page.locked = state.training.locked = false;
}

/// Only during the tour.
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
         "cells of a pixel: largest, mean, \u2026", always(next_pooling)},
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
        {"tour.next", "next step of the tour", "", "Enter", "", "during the tour: next, back", step_tour(1)},
        {"tour.back", "previous step of the tour", "", "Shift Enter", "", "during the tour: next, back", step_tour(-1)},
        {"picture.save", "save a picture of this page", "", "F12", "", "",
         always([](ActionScope& scope) { scope.save = true; })},
        {"escape", "close, stop, unlock", "", "Esc", "", "", always(escape)},
        {"keys", "keys", "", "?", "", "this list", always([](ActionScope& scope) { scope.state.key_overlay = true; })},
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

std::vector<KeyLine> key_lines(const std::string& page) {
    std::vector<KeyLine> lines;
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

namespace {

/// What the page calls it, what the palette calls it, the key, and the line that it shares on the list of keys.
struct PageKey {
    const char* id;
    const char* title;
    const char* key;
    const char* sheet = "";
};

void add(std::vector<NamedAction>& all, const std::string& page, const std::vector<PageKey>& keys) {
    for (const PageKey& key : keys)
        all.push_back({page + "." + key.id, key.title, page, key.key, "", key.sheet, nullptr});
}

/// Of every page with an animation.
void add_animation(std::vector<NamedAction>& all, const std::string& page) {
    add(all, page,
        {{"play", "play or stop the animation", "p", "animation: play, next, back, speed"},
         {"frame.more", "next frame of the animation", "n", "animation: play, next, back, speed"},
         {"frame.less", "previous frame of the animation", "N", "animation: play, next, back, speed"},
         {"speed", "next speed of the animation", "v", "animation: play, next, back, speed"}});
}

/// Of every page whose column takes a cell apart.
void add_cell_column(std::vector<NamedAction>& all, const std::string& page) {
    add(all, page,
        {{"column", "words, terms or products in the column", "w", "column; next term; copy the cell"},
         {"term", "next term in the column", "Tab", "column; next term; copy the cell"},
         {"copy", "copy the cell as text", "c", "column; next term; copy the cell"},
         {"channels.more", "channels further down", "j", "channels down, up"},
         {"channels.less", "channels further up", "k", "channels down, up"}});
}

void add_encoder_pages(std::vector<NamedAction>& all) {
    add(all, "start", {{"tour", "start the tour", "Enter"}});
    add(all, "positions", {{"kind", "clamp or log buckets", "x"}});
    const char* drop = "with or without c2c, c2p, p2c";
    add(all, "attention",
        {{"term", "next term in the microscope", "Tab"},
         {"picture", "one head, all heads, any stage", "v", "head, all heads, stage; back to the head"},
         {"head", "back to one head", "Enter", "head, all heads, stage; back to the head"},
         {"c2c", "with or without content to content", "q", drop},
         {"c2p", "with or without content to position", "w", drop},
         {"p2c", "with or without position to content", "e", drop},
         {"scale", "scale follows the terms or stays", "r"},
         {"transpose", "exchange rows and columns", "x", "rows and columns; strength or share"},
         {"curve", "strength or share by distance", "s", "rows and columns; strength or share"},
         {"table", "table of channels", "p", "table of channels; copy as text"},
         {"copy", "copy the microscope as text", "c", "table of channels; copy as text"},
         {"mask", "mask the query, and back", "m", "mask the query; stage after, before"},
         {"stage.more", "stage after", "n", "mask the query; stage after, before"},
         {"stage.less", "stage before", "N", "mask the query; stage after, before"}});
    all.push_back({"attention.transpose.also", "exchange rows and columns, by T", "attention", "T", "", "", nullptr});
    all.push_back({"attention.copy.also", "copy the microscope, by Ctrl C", "attention", "Ctrl C", "", "", nullptr});
    add(all, "decoder",
        {{"weaker", "weaker absolute positions", "i", "strength of I down, up"},
         {"stronger", "stronger absolute positions", "I", "strength of I down, up"},
         {"side", "words, or a cell of a pass", "e", "words, cell of a pass; copy the cell"},
         {"copy", "copy the cell as text", "c", "words, cell of a pass; copy the cell"}});
    add_animation(all, "decoder");
}

void add_family_pages(std::vector<NamedAction>& all) {
    add(all, "rope",
        {{"query.less", "query one position back", "\u2190", "position of the query"},
         {"query.more", "query one position on", "\u2192", "position of the query"},
         {"key.more", "key one position on", "\u2191", "position of the key"},
         {"key.less", "key one position back", "\u2193", "position of the key"},
         {"shown", "walk, scores, probabilities, linear", "w", "walk, scores, probabilities, linear; copy"},
         {"copy", "copy the cell as text", "c", "walk, scores, probabilities, linear; copy"},
         {"shift.more", "shift both on", "s", "shift both forward, back"},
         {"shift.less", "shift both back", "S", "shift both forward, back"},
         {"layout", "interleaved or half-split", "x"},
         {"base", "next base", "b", "next base, next scaling"},
         {"scaling", "next scaling", "y", "next base, next scaling"}});
    add_animation(all, "rope");
    add(all, "transformer-xl",
        {{"memory.less", "shorter memory", "m", "memory shorter, longer"},
         {"memory.more", "longer memory", "M", "memory shorter, longer"},
         {"segment.more", "segment after", "s", "segment after, before"},
         {"segment.less", "segment before", "S", "segment after, before"},
         {"trick", "the other shift", "x", "other shift; how far back"},
         {"strip", "the animation, or how far back every layer sees", "e", "other shift; how far back"}});
    add_animation(all, "transformer-xl");
    add_cell_column(all, "transformer-xl");
    add(all, "permutation",
        {{"card.less", "card before", "\u2190", "choose a card"},
         {"card.more", "card after", "\u2192", "choose a card"},
         {"card.earlier", "move the card forward", "Shift \u2190", "move the card"},
         {"card.later", "move the card back", "Shift \u2192", "move the card"},
         {"predict", "predict the card, or give it", "Enter"},
         {"row.less", "explain the row above", "\u2191", "row that is explained"},
         {"row.more", "explain the row below", "\u2193", "row that is explained"},
         {"order", "next order", "o", "next order; reversed; next sentence"},
         {"reverse", "order reversed", "r", "next order; reversed; next sentence"},
         {"sentence", "next sentence", "x", "next order; reversed; next sentence"},
         {"segments", "with or without the segment term", "g"}});
    add_cell_column(all, "permutation");
}

void add_other_pages(std::vector<NamedAction>& all) {
    add(all, "text",
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
    add(all, "compare",
        {{"worst", "next worst cell", "n", "next worst cell"},
         {"worst.also", "next worst cell, by N", "N", "next worst cell"},
         {"stage.more", "stage after", "s", "stage after, before"},
         {"stage.less", "stage before", "S", "stage after, before"},
         {"case.more", "next case of the report", "c", "case of the report after, before"},
         {"case.less", "previous case of the report", "C", "case of the report after, before"},
         {"dialect", "next dialect of B", "d"},
         {"zoo", "mistakes of the catalogue", "z"}});
    add(all, "conformance",
        {{"failing.more", "next case that fails", "n", "next case that fails, the one before"},
         {"failing.less", "case that fails before", "N", "next case that fails, the one before"},
         {"case.more", "case after", "c", "case after, before"},
         {"case.less", "case before", "C", "case after, before"},
         {"stage.more", "stage after", "s", "stage after, before"},
         {"stage.less", "stage before", "S", "stage after, before"},
         {"mistake.more", "mistake after", "m", "mistake after, before"},
         {"mistake.less", "mistake before", "M", "mistake after, before"},
         {"failing", "only what fails", "o", "only what fails; check again"},
         {"again", "check again", "r", "only what fails; check again"},
         {"numbers", "its numbers in Compare", "Enter"}});
    add(all, "training",
        {{"train", "train, or stop", "Enter"},
         {"sentence", "next sentence", "x", "next sentence; hide the query, and back"},
         {"mask", "hide the word of the query, or bring it back", "m", "next sentence; hide the query, and back"},
         {"scale", "one scale for all snapshots, or each its own", "r"}});
    add_animation(all, "training");
}

}  // namespace

void add_page_actions(std::vector<NamedAction>& all) {
    add_encoder_pages(all);
    add_family_pages(all);
    add_other_pages(all);
}

}  // namespace locus

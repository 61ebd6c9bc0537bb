// The page: sentences and orders, what the model answers, layout, keys.
#include "viewer/pages/permutation/permutation.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"
#include "viewer/plots/stage_slice.h"

namespace locus {

namespace {

/// "3 2 4 1" -> everything predicted in this order, counted from 1.
std::pair<std::string, CardRow> order_preset(const std::string& name, std::vector<Index> order) {
    for (Index& position : order) --position;
    return {name, cards_of_order(order)};
}

std::size_t letters_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// "france, paris" for the predicted words; where they are too long their positions "4, 6", or how many there are.
std::string names_of(const CardRow& row, const std::vector<std::string>& words) {
    constexpr std::size_t kLongest = 24;
    std::string names, places;
    for (const Index position : predicted_of(row)) {
        const char* comma = names.empty() ? "" : ", ";
        names += comma + words.at(static_cast<std::size_t>(position));
        places += comma + std::to_string(position + 1);
    }
    if (letters_of(names) <= kLongest) return names;
    return places.size() <= kLongest ? places : several(std::ssize(predicted_of(row)), "word");
}

CardRow backwards(CardRow row) {
    std::reverse(std::find(row.begin(), row.end(), kDivider) + 1, row.end());
    return row;
}

/// The first words of a sentence, short enough for a choice.
std::string short_name(const std::vector<std::string>& words) {
    std::string name;
    for (const std::string& word : words) {
        if (letters_of(name) + letters_of(word) > 16) return name.empty() ? "own sentence" : name + " \u2026";
        name += (name.empty() ? "" : " ") + word;
    }
    return name;
}

}  // namespace

std::string chance_text(double chance) { return chance < 5e-4 ? brief(chance) : fixed(chance, 3); }

PermutationPage::PermutationPage()
    : sentences_{{{"", {}, {}},
                  {"\ubc1c \uc5c6\ub294 \ub9d0\uc774 \ucc9c\ub9ac \uac04\ub2e4",
                   {"\ubc1c", "\uc5c6\ub294", "\ub9d0", "\uc774", "\ucc9c\ub9ac", "\uac04\ub2e4"},
                   {order_preset("2 4 3 1 6 5", {2, 4, 3, 1, 6, 5}), order_preset("1 2 5 4 3 6", {1, 2, 5, 4, 3, 6}),
                    order_preset("1 2 3 4 5 6", {1, 2, 3, 4, 5, 6})}},
                  {"\ub098 \uc5b4\uc81c \ud559\uad50 \uac14\uc5b4",
                   {"\ub098", "\uc5b4\uc81c", "\ud559\uad50", "\uac14\uc5b4"},
                   {order_preset("3 2 4 1", {3, 2, 4, 1}), order_preset("2 4 3 1", {2, 4, 3, 1}),
                    order_preset("1 4 2 3", {1, 4, 2, 3}), order_preset("4 3 1 2", {4, 3, 1, 2})}}}} {}

ModelCard PermutationPage::card(const Scene&) {
    const ModelSizes sizes = sentence().sizes();
    return {sentence().name(), size_line(sizes.layers, sizes.heads)};
}

const std::vector<std::string>& PermutationPage::words(const PermutationState& state) const {
    return runs_model(state) ? sentence().words() : sentences_.at(state.sentence).words;
}

const std::string& PermutationPage::word(const PermutationState& state, Index position) const {
    return words(state).at(static_cast<std::size_t>(position));
}

std::vector<std::pair<std::string, CardRow>> PermutationPage::presets(const PermutationState& state) const {
    if (!runs_model(state)) return sentences_.at(state.sentence).presets;
    const CardRow usual = sentence().usual_cards(), other = backwards(usual);
    std::vector<std::pair<std::string, CardRow>> all = {{names_of(usual, sentence().words()), usual}};
    if (other != usual)
        all.emplace_back(predicted_of(usual).size() > 3 ? "reversed" : names_of(other, sentence().words()), other);
    return all;
}

CardRow PermutationPage::cards_in(const PermutationState& state, const PermutationSentence& of) const {
    const bool model = runs_model(state);
    if (state.order.empty()) return model ? of.usual_cards() : sentences_.at(state.sentence).presets.front().second;
    const std::size_t count = model ? of.words().size() : sentences_.at(state.sentence).words.size();
    return cards_of_text(state.order, static_cast<Index>(count));
}

void PermutationPage::set_cards(PermutationState& state, const CardRow& row) const {
    PermutationState usual = state;
    usual.order.clear();
    state.order = row == cards(usual) ? "" : order_text(row);
}

Index PermutationPage::shown_row(const PermutationState& state) const {
    if (state.row >= 0 && state.row < static_cast<Index>(words(state).size())) return state.row;
    const std::vector<Index> predicted = predicted_of(cards(state));
    return predicted.empty() ? 0 : predicted.back();
}

float PermutationPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    PermutationState& state = scene.state.permutation;
    fit(state);
    const float y = bar.middle_y();
    const ModelSizes sizes = sentence().sizes();
    const float end = runs_model(state)
                          ? ui.layer_and_head(bar.x1 - ui.px(16), y, sizes.layers, state.layer, sizes.heads, state.head)
                          : bar.x1;
    std::vector<std::string> names, orders;
    float all = ui.px(52);
    for (const CardSentence& each : sentences_) names.emplace_back(each.name);
    names[0] = short_name(sentence().words());
    for (const std::string& each : names) all += ui.text_width(each) + ui.px(24);
    if (bar.x0 + all > end)  // whole sentences where they fit
        for (std::size_t n = 1; n < names.size(); ++n)
            names[n] = sentences_[n].words[0] + " " + sentences_[n].words[1] + " \u2026";
    const std::size_t before = state.sentence;
    float x = ui.choice("sentence", bar.x0 + ui.px(16), y, names, state.sentence) + ui.px(16);
    if (state.sentence != before) {
        state.order.clear();
        state.row = state.card = -1;
        fit(state);
    }
    const auto known = presets(state);
    std::size_t chosen = known.size();  // none of them
    float wide = ui.text_width("order") + ui.px(25);
    for (std::size_t n = 0; n < known.size(); ++n) {
        orders.push_back(known[n].first);
        wide += ui.text_width(known[n].first) + ui.px(24);
        if (known[n].second == cards(state)) chosen = n;
    }
    if (x + wide > end) return end;  // the keys o and r do the same
    x += ui.text(x, y, "order", ui.theme->muted) + ui.px(7);
    const std::size_t shown = chosen;
    ui.choice("order", x, y, orders, chosen);
    if (chosen != shown) {
        set_cards(state, known[chosen].second);
        state.row = state.card = -1;
    }
    return end;
}

void PermutationPage::draw(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    refresh(scene);
    const PermutationState& state = scene.state.permutation;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    const float cards_high = ui.px(112), title = ui.px(22), gap = ui.px(24);
    const float labels = ui.px(58), streams = std::max(ui.px(176), inside.height() * 0.28f);
    draw_cards(scene, {inside.x0, inside.y0, inside.x1, inside.y0 + cards_high - ui.px(14)});
    const float chain = ui.px(204) + gap;  // across
    const float down = inside.height() - cards_high - streams - ui.px(12), across = inside.width() - labels - chain;
    // The masks side by side, or one above the other where the page is so high that they become much larger.
    const float row = std::min(down - title - labels, (across - gap) / 2);
    const float column = std::min((down - gap) / 2 - title - labels, across);
    const bool tall = column > 1.3f * row;
    const auto count = static_cast<float>(words(state).size());
    // Whole pixels for every cell, where there are not more cells than pixels.
    const float wished = std::max(ui.px(80), tall ? column : row);
    const float side = wished >= 4 * count ? std::floor(wished / count) * count : std::floor(wished);
    const float top = inside.y0 + cards_high + title + labels;
    float x = inside.x0 + labels;
    draw_mask(scene, {x, top, x + side, top + side}, false, true);
    if (!tall) x += side + gap;
    const float second = tall ? top + side + gap + title + labels : top;
    draw_mask(scene, {x, second, x + side, second + side}, true, tall);
    x += side + gap + ui.px(8);
    draw_chain(scene, {x, inside.y0 + cards_high, inside.x1, top + side});
    // It takes the height that the masks leave, as long as its arrows stay short enough to follow.
    const float from = std::max(second + side + ui.px(22), inside.y1 - std::max(streams, ui.px(290)));
    draw_streams(scene, {inside.x0, from, inside.x1, inside.y1});
}

bool PermutationPage::press(Scene& scene, const KeyPress& press) {
    PermutationState& state = scene.state.permutation;
    fit(state);
    CardRow row = cards(state);
    const auto slots = static_cast<Index>(row.size());
    const Index chosen = state.card >= 0 && state.card < slots ? state.card : slots - 1;
    const auto sideways = [&](Index by) {
        const auto slot = static_cast<std::size_t>(chosen);
        const Index position = row[slot];
        if (press.shift) set_cards(state, row = stepped(row, slot, by));
        state.card =
            press.shift ? static_cast<Index>(slot_of(row, position)) : std::clamp<Index>(chosen + by, 0, slots - 1);
        if (const Index now = row[static_cast<std::size_t>(state.card)]; now != kDivider) state.row = now;
        return true;
    };
    const auto other_row = [&](Index by) {
        state.row = std::clamp<Index>(shown_row(state) + by, 0, slots - 2);
        return true;
    };
    const auto anew = [&](const CardRow& other) {
        set_cards(state, other);
        state.row = state.card = -1;
        return true;
    };
    if (press.key == Key::left) return sideways(-1);
    if (press.key == Key::right) return sideways(1);
    if (press.key == Key::up) return other_row(-1);
    if (press.key == Key::down) return other_row(1);
    if (press.key == Key::enter) {
        const Index position = row[static_cast<std::size_t>(chosen)];
        if (position == kDivider) return true;
        set_cards(state, row = toggled(row, position));
        state.card = static_cast<Index>(slot_of(row, position));
        state.row = position;
        return true;
    }
    if (runs_model(state) && press_cell_column(press, column_of(state), 3, sentence().sizes().head_width)) return true;
    if (press.key != Key::character) return false;
    switch (press.character) {
        case 'o': {
            const auto known = presets(state);
            std::size_t at = 0;
            while (at < known.size() && known[at].second != row) ++at;
            return anew(known[at + 1 < known.size() ? at + 1 : 0].second);
        }
        case 'r':
            return anew(backwards(row));
        case 'x':
            state.sentence = (state.sentence + 1) % sentences_.size();
            state.order.clear();
            state.row = state.card = -1;
            return true;
        case 'g':
            state.segments = !state.segments;
            return true;
        case 'c':
            if (explain(state)) copy_cell(scene.state, copied_text(state));
            return true;
        default:
            return step_head(press, sentence().sizes().layers, sentence().sizes().heads, state.layer, state.head);
    }
}

std::vector<NamedMatrix> PermutationPage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    if (!ready() || visible_.content.size() == 0) return matrices;
    const PermutationState& state = scene.state.permutation;
    const auto add = [&](NamedMatrix matrix, std::vector<std::string> rows) {
        matrix.rows = std::move(rows);
        matrix.cols = words(state);
        matrix.map = MapKind::sequential;
        matrix.range = ValueRange{0, 1};
        matrices.push_back(std::move(matrix));
    };
    const auto see = [](const Visibility& visible) { return Matrix<float>(visible.cast<float>()); };
    add(named_matrix("content mask", "who sees whom, content stream", "content mask", see(visible_.content)),
        words(state));
    add(named_matrix("query mask", "who sees whom, query stream", "query mask", see(visible_.query)), words(state));
    if (!runs_model(state)) return matrices;
    const std::string layer = "layer." + std::to_string(state.layer);
    std::vector<std::string> targets;
    for (const TargetChance& chance : answer().chances) targets.push_back(word(state, chance.position));
    if (const Stage* stage = answer().trace.find(layer + ".probs"))
        add(named_slice("content", "content stream looks at", *stage, 0, state.head), words(state));
    const Stage* stage = answer().trace.find(layer + ".g.probs");
    // Without a head no chances are told, and rows are counted.
    if (stage && stage->size() > 0)
        add(named_slice("query", "query stream looks at", *stage, 0, state.head),
            static_cast<Index>(targets.size()) == matrices_of(*stage).rows ? targets : std::vector<std::string>());
    return matrices;
}

std::unique_ptr<Page> make_permutation_page() { return std::make_unique<PermutationPage>(); }

}  // namespace locus

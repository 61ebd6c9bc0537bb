// The page: sentences and orders, what the model answers, where everything stands, keys.
#include "viewer/pages/permutation.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"

namespace locus {

namespace {

/// "3 2 4 1" -> everything predicted in this order, counted from 1.
std::pair<std::string, CardRow> order_preset(const std::string& name, std::vector<Index> order) {
    for (Index& position : order) --position;
    return {name, cards_of_order(order)};
}

}  // namespace

std::string chance_text(double chance) { return chance < 5e-4 ? brief(chance) : fixed(chance, 3); }

PermutationPage::PermutationPage()
    : sentences_{{{"capital of france",
                   {},
                   {{"france, paris", {0, 1, 2, 4, 6, 7, 8, kDivider, 3, 5}},
                    {"paris, france", {0, 1, 2, 4, 6, 7, 8, kDivider, 5, 3}}}},
                  {"\ubc1c \uc5c6\ub294 \ub9d0\uc774 \ucc9c\ub9ac \uac04\ub2e4",
                   {"\ubc1c", "\uc5c6\ub294", "\ub9d0", "\uc774", "\ucc9c\ub9ac", "\uac04\ub2e4"},
                   {order_preset("2 4 3 1 6 5", {2, 4, 3, 1, 6, 5}), order_preset("1 2 5 4 3 6", {1, 2, 5, 4, 3, 6}),
                    order_preset("1 2 3 4 5 6", {1, 2, 3, 4, 5, 6})}},
                  {"\ub098 \uc5b4\uc81c \ud559\uad50 \uac14\uc5b4",
                   {"\ub098", "\uc5b4\uc81c", "\ud559\uad50", "\uac14\uc5b4"},
                   {order_preset("3 2 4 1", {3, 2, 4, 1}), order_preset("2 4 3 1", {2, 4, 3, 1}),
                    order_preset("1 4 2 3", {1, 4, 2, 3}), order_preset("4 3 1 2", {4, 3, 1, 2})}}}} {
    for (std::size_t n = 0; n < sentences_.size(); ++n) cards_[n] = sentences_[n].presets.front().second;
}

const PermutationExhibit& PermutationPage::exhibit() {
    const PermutationExhibit& opened = *exhibit_;
    if (sentences_[0].words.empty()) sentences_[0].words = opened.words();
    return opened;
}

ModelCard PermutationPage::card(const Scene&) {
    const ModelSizes sizes = exhibit().sizes();
    return {exhibit().name(), size_line(sizes.layers, sizes.heads)};
}

const std::string& PermutationPage::word(const PermutationState& state, Index position) const {
    return sentence(state).words.at(static_cast<std::size_t>(position));
}

Index PermutationPage::shown_row(const PermutationState& state) {
    const std::vector<Index> predicted = predicted_of(cards(state));
    const auto length = static_cast<Index>(sentence(state).words.size());
    if (state.row >= 0 && state.row < length) return state.row;
    return predicted.empty() ? 0 : predicted.back();
}

PermutationAnswer PermutationPage::answer_to(const CardRow& row) {
    // A given token has no query stream; in the model's mask it sees what its content stream sees.
    StreamVisibility visible = visibility_of(row);
    for (const Index i : given_of(row)) visible.query.row(i) = visible.content.row(i);
    return exhibit().answer(predicted_of(row), visible.query);
}

void PermutationPage::refresh(Scene& scene) {
    const PermutationState& state = scene.state.permutation;
    exhibit();
    visible_ = visibility_of(cards(state));
    if (state.sentence != 0 || (answer_ && answered_ == cards(state))) return;
    answered_ = cards(state);
    answer_ = answer_to(answered_);
    CardRow backwards = answered_;
    std::reverse(std::find(backwards.begin(), backwards.end(), kDivider) + 1, backwards.end());
    reversed_ = answer_to(backwards);
}

std::optional<float> PermutationPage::attention(const PermutationState& state, bool query, Index i, Index j) {
    if (state.sentence != 0 || !answer_) return std::nullopt;
    const std::string layer = "layer." + std::to_string(state.layer) + (query ? ".g.probs" : ".probs");
    const Stage* stage = answer_->trace.find(layer);
    if (!stage) return std::nullopt;
    Index row = i;
    if (query) {
        const auto& targets = answer_->targets;
        row = std::find(targets.begin(), targets.end(), i) - targets.begin();
        if (row == static_cast<Index>(targets.size())) return std::nullopt;
    }
    return stage->as<float>().matrix(state.head)(row, j);
}

float PermutationPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    PermutationState& state = scene.state.permutation;
    const float y = bar.middle_y();
    std::vector<std::string> names, presets;
    for (const CardSentence& each : sentences_) names.emplace_back(each.name);
    const std::size_t before = state.sentence;
    float x = ui.choice("sentence", bar.x0 + ui.px(16), y, names, state.sentence) + ui.px(16);
    if (state.sentence != before) state.row = state.card = -1;
    x += ui.text(x, y, "order", ui.theme->muted) + ui.px(7);
    std::size_t chosen = sentence(state).presets.size();  // none of them
    for (std::size_t n = 0; n < sentence(state).presets.size(); ++n) {
        presets.push_back(sentence(state).presets[n].first);
        if (sentence(state).presets[n].second == cards(state)) chosen = n;
    }
    const std::size_t shown = chosen;
    x = ui.choice("order", x, y, presets, chosen);
    if (chosen != shown) {
        cards(state) = sentence(state).presets[chosen].second;
        state.row = state.card = -1;
    }
    if (state.sentence != 0) return bar.x1;
    const ModelSizes sizes = exhibit().sizes();
    return ui.layer_and_head(bar.x1 - ui.px(16), y, sizes.layers, state.layer, sizes.heads, state.head);
}

void PermutationPage::draw(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    refresh(scene);
    const PermutationState& state = scene.state.permutation;
    const Rect inside = room.inset(ui.px(16), ui.px(12));
    const float cards_high = ui.px(112), title = ui.px(22), gap = ui.px(24);
    const float labels = ui.px(58), streams = std::max(ui.px(176), inside.height() * 0.28f);
    draw_cards(scene, {inside.x0, inside.y0, inside.x1, inside.y0 + cards_high - ui.px(14)});
    const float by_height = inside.height() - cards_high - title - labels - streams - ui.px(12);
    const float by_width = (inside.width() - labels - 2 * gap - ui.px(204)) / 2;  // what is left is the chain's
    const auto count = static_cast<float>(sentence(state).words.size());
    // Whole pixels for every cell.
    const float side = std::floor(std::max(ui.px(80), std::min(by_height, by_width)) / count) * count;
    const float top = inside.y0 + cards_high + title + labels;
    float x = inside.x0 + labels;
    draw_mask(scene, {x, top, x + side, top + side}, false, true);
    x += side + gap;
    draw_mask(scene, {x, top, x + side, top + side}, true, false);
    x += side + gap + ui.px(8);
    draw_chain(scene, {x, inside.y0 + cards_high, inside.x1, top + side});
    // It takes the height that the masks leave, as long as its arrows stay short enough to follow.
    const float from = std::max(top + side + ui.px(22), inside.y1 - std::max(streams, ui.px(290)));
    draw_streams(scene, {inside.x0, from, inside.x1, inside.y1});
}

bool PermutationPage::press(Scene& scene, const KeyPress& press) {
    PermutationState& state = scene.state.permutation;
    CardRow& row = cards(state);
    const auto slots = static_cast<Index>(row.size());
    const Index chosen = state.card >= 0 && state.card < slots ? state.card : slots - 1;
    const auto sideways = [&](Index by) {
        const auto slot = static_cast<std::size_t>(chosen);
        const Index position = row[slot];
        if (press.shift) row = stepped(row, slot, by);
        state.card =
            press.shift ? static_cast<Index>(slot_of(row, position)) : std::clamp<Index>(chosen + by, 0, slots - 1);
        if (const Index now = row[static_cast<std::size_t>(state.card)]; now != kDivider) state.row = now;
        return true;
    };
    const auto other_row = [&](Index by) {
        state.row = std::clamp<Index>(shown_row(state) + by, 0, slots - 2);
        return true;
    };
    if (press.key == Key::left) return sideways(-1);
    if (press.key == Key::right) return sideways(1);
    if (press.key == Key::up) return other_row(-1);
    if (press.key == Key::down) return other_row(1);
    if (press.key != Key::character) return false;
    const auto& presets = sentence(state).presets;
    switch (press.character) {
        case 'o': {
            std::size_t at = 0;
            while (at < presets.size() && presets[at].second != row) ++at;
            row = presets[at + 1 < presets.size() ? at + 1 : 0].second;
            state.row = state.card = -1;
            return true;
        }
        case 'r':
            std::reverse(std::find(row.begin(), row.end(), kDivider) + 1, row.end());
            state.row = state.card = -1;
            return true;
        case 'x':
            state.sentence = (state.sentence + 1) % sentences_.size();
            state.row = state.card = -1;
            return true;
        default:
            return step_head(press, exhibit().sizes().layers, exhibit().sizes().heads, state.layer, state.head);
    }
}

std::vector<NamedMatrix> PermutationPage::numbers(const Scene& scene) {
    const PermutationState& state = scene.state.permutation;
    const std::vector<std::string>& words = sentence(state).words;
    std::vector<NamedMatrix> matrices;
    const auto add = [&](NamedMatrix matrix, std::vector<std::string> rows) {
        matrix.rows = std::move(rows);
        matrix.cols = words;
        matrix.map = MapKind::sequential;
        matrix.range = ValueRange{0, 1};
        matrices.push_back(std::move(matrix));
    };
    const auto see = [](const Visibility& visible) { return Matrix<float>(visible.cast<float>()); };
    if (visible_.content.size() == 0) return matrices;
    add(named_matrix("content mask", "who sees whom, content stream", "content mask", see(visible_.content)), words);
    add(named_matrix("query mask", "who sees whom, query stream", "query mask", see(visible_.query)), words);
    if (state.sentence != 0 || !answer_) return matrices;
    const std::string layer = "layer." + std::to_string(state.layer);
    std::vector<std::string> targets;
    for (const Index position : answer_->targets) targets.push_back(word(state, position));
    if (const Stage* stage = answer_->trace.find(layer + ".probs"))
        add(named_sheet("content", "content stream looks at", *stage, 0, state.head), words);
    if (const Stage* stage = answer_->trace.find(layer + ".g.probs"); stage && !targets.empty())
        add(named_sheet("query", "query stream looks at", *stage, 0, state.head), targets);
    return matrices;
}

std::unique_ptr<Page> make_permutation_page() { return std::make_unique<PermutationPage>(); }

}  // namespace locus

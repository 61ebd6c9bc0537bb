// The chain of predictions with its chances, and the two streams of one row.
#include <algorithm>
#include <cmath>

#include "viewer/pages/permutation/permutation.h"
#include "viewer/plots/chances.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/ui.h"

namespace locus {

double PermutationPage::named_chance(const TargetChance& target) const {
    return sentence().is_mask(target.position) ? target.best_probability : target.probability;
}

float PermutationPage::draw_chances(const Scene& scene, const Rect& area, float y, const std::string& title,
                                    const std::vector<TargetChance>& chances, ImU32 colour) const {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    ui.text(area.x0, y, title, ui.theme->muted, Face::label);
    y += ui.px(22);
    const float words = ui.px(62), numbers = ui.px(44), length = area.width() - words - numbers;
    double product = 1;
    bool known = true;
    const std::size_t fit = static_cast<std::size_t>(std::max(1.0f, (area.y1 - y - ui.px(40)) / ui.px(21)));
    for (std::size_t n = 0; n < chances.size(); ++n) {
        // The word of a mask is not known: the model's best guess is named.
        const bool asked = sentence().is_mask(chances[n].position);
        const double chance = named_chance(chances[n]);
        product *= chance;
        known = known && !asked;
        if (n == fit)
            ui.text(area.x0, y, "and " + std::to_string(chances.size() - fit) + " more", ui.theme->muted, Face::label);
        if (n == fit) y += ui.px(21);
        if (n >= fit) continue;
        const std::string name = asked ? "\u2192 " + chances[n].best : word(state, chances[n].position);
        ui.text_within(area.x0, y, words - ui.px(4), name, ui.theme->text, Face::label);
        const float end = area.x0 + words + std::max(ui.px(2), static_cast<float>(chance) * length);
        ui.fill({area.x0 + words, y - ui.px(4), end, y + ui.px(4)}, colour, 2);
        ui.text(area.x1, y, chance < 0.0005 ? chance_text(chance) : fixed(chance, 3), ui.theme->text, Face::mono,
                Align::right);
        y += ui.px(21);
    }
    ui.text(area.x0, y, known ? "together" : "together, if so", ui.theme->muted, Face::label);
    ui.text(area.x1, y, chance_text(product), ui.theme->text, Face::mono_strong, Align::right);
    return y + ui.px(30);
}

void PermutationPage::draw_chain(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const bool model = runs_model(state);
    ui.text_within(area.x0, area.y0 + ui.px(9), area.width(), model ? "how sure is the model?" : "what it has to learn",
                   ui.theme->text, Face::title);
    float y = area.y0 + ui.px(38);
    ui.draw().push_clip(area.min(), area.max());
    if (!model) {
        draw_factors(scene, area, y);
    } else if (predicted_of(cards(state)).empty()) {
        ui.paragraph(area.x0, y, area.width(), "Nothing is predicted: click a card, or drag it past the divider.",
                     ui.theme->muted);
    } else if (!answer().has_head) {
        ui.paragraph(area.x0, y, area.width(), "These weights have no output layer (lm_loss), so no word can be told.",
                     ui.theme->muted);
    } else if (!answer().chances.empty() && std::isnan(answer().chances.front().best_probability)) {
        ui.paragraph(area.x0, y, area.width(), kNoRank, ui.theme->muted);
    } else if (!answer().chances.empty()) {
        y = draw_chances(scene, area, y, "in this order", answer().chances, ui.theme->c2p);
        // With many targets only this order fits.
        const float lines = ui.px(21) * static_cast<float>(answer().reversed.size()) + ui.px(44);
        if (!answer().reversed.empty() && y + lines <= area.y1)
            y = draw_chances(scene, area, y, "reversed", answer().reversed, ui.theme->muted);
        const std::string why =
            "What is predicted later may look at what was predicted before; the first one has to guess.";
        if (y + ui.px(66) <= area.y1) ui.paragraph(area.x0, y - ui.px(8), area.width(), why, ui.theme->muted);
    }
    ui.draw().pop_clip();
}

void PermutationPage::draw_factors(const Scene& scene, const Rect& area, float y) const {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const std::vector<Index> predicted = predicted_of(cards(state));
    std::string before;
    for (const Index position : predicted) {
        const bool shown = position == shown_row(state);
        const ImU32 ink = shown ? ui.theme->text : ui.theme->muted;
        float x = area.x0 + ui.text(area.x0, y, "p( ", ink, Face::mono);
        x += ui.text(x, y, word(state, position), shown ? ui.theme->c2p : ink, Face::ui);
        if (!before.empty()) x += ui.text(x, y, " | ", ink, Face::mono);
        x += ui.text_within(x, y, area.x1 - x - ui.px(20), before, shown ? ui.theme->c2c : ink, Face::ui);
        ui.text(x, y, " )", ink, Face::mono);
        y += ui.px(26);
        before += (before.empty() ? "" : " ") + word(state, position);
    }
    Index orders = 1;
    for (Index n = 2; n <= static_cast<Index>(predicted.size()); ++n) orders *= n;
    ui.paragraph(area.x0, y, area.width(),
                 "One of " + grouped(orders) + " ways to write the same p(x); training draws among them.",
                 ui.theme->muted);
}

/// Tokens that are drawn as nodes, in the order of the text: all, or the `count` most looked at.
std::vector<Index> PermutationPage::nodes_of(const PermutationState& state, std::size_t count) const {
    const Index chosen = shown_row(state);
    std::vector<std::pair<float, Index>> weights;
    for (Index j = 0; j < static_cast<Index>(words(state).size()); ++j) {
        const float weight =
            std::max(attention(state, true, chosen, j).value_or(0), attention(state, false, chosen, j).value_or(0));
        weights.emplace_back(j == chosen ? 2 : weight, j);
    }
    std::stable_sort(weights.begin(), weights.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (weights.size() > count) weights.resize(count);
    std::vector<Index> nodes;
    for (const auto& [weight, j] : weights) nodes.push_back(j);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
}

void PermutationPage::draw_streams(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    PermutationState& state = scene.state.permutation;
    const Index chosen = shown_row(state);
    const float names = ui.px(96);
    const std::vector<Index> nodes =
        nodes_of(state, static_cast<std::size_t>(std::max(3.0f, (area.width() - names) / ui.px(66))));
    const auto length = words(state).size();
    const std::string name = "\u201c" + word(state, chosen) + "\u201d";
    const float wide =
        ui.text(area.x0, area.y0 + ui.px(8), "where " + name + " reads in one layer", theme.text, Face::title);
    const std::string note = nodes.size() < length ? "the " + std::to_string(nodes.size()) + " of " +
                                                         std::to_string(length) + " words it looks at most"
                             : runs_model(state) ? "stronger line: more attention"
                                                 : "click a row or a card";
    ui.text_within(area.x1, area.y0 + ui.px(8), area.width() - wide - ui.px(12), note, theme.muted, Face::mono_small,
                   Align::right);
    const float pitch = (area.width() - names) / static_cast<float>(nodes.size());
    const float g_y = area.y0 + ui.px(40), h_y = area.y0 + area.height() * 0.52f, words_y = area.y1 - ui.px(14);
    const auto x_of = [&](std::size_t n) { return area.x0 + names + (static_cast<float>(n) + 0.5f) * pitch; };
    const auto own = static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), chosen) - nodes.begin());
    ui.text(area.x0, g_y - ui.px(7), "g  query", theme.c2p);
    ui.text(area.x0, g_y + ui.px(9), "starts as w", theme.muted, Face::label);
    ui.text(area.x0, h_y - ui.px(7), "h  content", theme.c2c);
    ui.text(area.x0, h_y + ui.px(9), "starts as word", theme.muted, Face::label);
    ui.text(area.x0, words_y, "layer below: h", theme.muted, Face::label);
    const float radius = ui.px(11);
    const auto line = [&](std::size_t from, float to_y, ImU32 colour, std::optional<float> weight) {
        const float share = weight ? 0.15f + 0.85f * std::sqrt(*weight) : 0.85f;
        const ImVec2 a{x_of(from), words_y - ui.px(14)}, b{x_of(own), to_y + radius + ui.px(1)};
        const float bend = (a.y - b.y) * 0.5f;
        ui.draw().curve(a, {a.x, a.y - bend}, {b.x, b.y + bend}, b, faded(colour, share),
                        ui.px(weight ? 1.25f + 2.25f * *weight : 1.75f));
    };
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (visible_.content(chosen, nodes[n])) line(n, h_y, theme.c2c, attention(state, false, chosen, nodes[n]));
        if (visible_.query(chosen, nodes[n])) line(n, g_y, theme.c2p, attention(state, true, chosen, nodes[n]));
    }
    const std::vector<Index> given = given_of(cards(state));
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const Index j = nodes[n];
        const bool has_g = std::find(given.begin(), given.end(), j) == given.end(), here = j == chosen;
        const auto node = [&](float y, ImU32 colour, const char* letter) {
            ui.draw().disc({x_of(n), y}, radius, here ? colour : theme.background);
            ui.draw().circle({x_of(n), y}, radius, here ? colour : faded(colour, 0.55f), ui.px(1.5f));
            ui.text(x_of(n), y, letter, here ? theme.background : faded(colour, 0.8f), Face::label, Align::centre);
        };
        node(h_y, theme.c2c, "h");
        if (has_g) node(g_y, theme.c2p, "g");
        const std::string shown = cut_token(ui, word(state, j), pitch - ui.px(12), Face::ui);
        const float box_wide = std::min(pitch - ui.px(6), ui.text_width(shown) + ui.px(16));
        const Rect box{x_of(n) - box_wide / 2, words_y - ui.px(12), x_of(n) + box_wide / 2, words_y + ui.px(12)};
        ui.fill(box, theme.chip, 5);
        if (here) ui.outline(box, theme.accent, 2, 5);
        ui.text(box.middle_x(), words_y, shown, theme.text, Face::ui, Align::centre);
        if (ui.touch(("word" + std::to_string(j)).c_str(), box).clicked) state.row = j;
    }
}

}  // namespace locus

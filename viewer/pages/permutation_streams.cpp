// The chain of predictions with its chances, and the two streams of one row.
#include <algorithm>
#include <cmath>

#include "viewer/pages/permutation.h"
#include "viewer/plots/number_format.h"
#include "viewer/strokes.h"

namespace locus {

float PermutationPage::draw_chances(Scene& scene, const Rect& room, float y, const std::string& title,
                                    const PermutationAnswer& answer, ImU32 colour) {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    ui.text(room.x0, y, title, ui.theme->muted, Face::label);
    y += ui.px(22);
    const float words = ui.px(62), numbers = ui.px(44), length = room.width() - words - numbers;
    double product = 1;
    for (std::size_t n = 0; n < answer.targets.size(); ++n) {
        const double chance = answer.probabilities[n];
        product *= chance;
        ui.text_within(room.x0, y, words - ui.px(4), word(state, answer.targets[n]), ui.theme->text, Face::label);
        const float end = room.x0 + words + std::max(ui.px(2), static_cast<float>(chance) * length);
        ui.fill({room.x0 + words, y - ui.px(4), end, y + ui.px(4)}, colour, 2);
        ui.text(room.x1, y, fixed(chance, 3), ui.theme->text, Face::mono, Align::right);
        y += ui.px(21);
    }
    ui.text(room.x0, y, "together", ui.theme->muted, Face::label);
    ui.text(room.x1, y, chance_text(product), ui.theme->text, Face::mono_strong, Align::right);
    return y + ui.px(30);
}

void PermutationPage::draw_chain(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    ui.text(room.x0, room.y0 + ui.px(9), state.sentence == 0 ? "how sure is the model?" : "what it has to learn",
            ui.theme->text, Face::title);
    float y = room.y0 + ui.px(38);
    const std::vector<Index> predicted = predicted_of(cards(state));
    ui.draw().push_clip(room.min(), room.max());
    if (state.sentence == 0) {
        if (predicted.empty())
            ui.paragraph(room.x0, y, room.width(), "Nothing is predicted: drag a card behind the divider.",
                         ui.theme->muted);
        else {
            y = draw_chances(scene, room, y, "in this order", *answer_, ui.theme->c2p);
            // With many targets there is room for this order alone.
            const float lines = ui.px(21) * static_cast<float>(predicted.size()) + ui.px(44);
            if (predicted.size() > 1 && y + lines <= room.y1)
                y = draw_chances(scene, room, y, "the other way round", *reversed_, ui.theme->muted);
            if (y + ui.px(50) <= room.y1)
                ui.paragraph(
                    room.x0, y - ui.px(8), room.width(),
                    "What is predicted later may look at what was predicted before; the first one has to guess.",
                    ui.theme->muted);
        }
    } else {
        std::vector<std::string> seen;
        for (const Index position : predicted) {
            std::string before;
            for (const std::string& each : seen) before += (before.empty() ? "" : " ") + each;
            const bool shown = position == shown_row(state);
            const ImU32 ink = shown ? ui.theme->text : ui.theme->muted;
            float x = room.x0 + ui.text(room.x0, y, "p( ", ink, Face::mono);
            x += ui.text(x, y, word(state, position), shown ? ui.theme->c2p : ink, Face::ui);
            if (!before.empty()) x += ui.text(x, y, " | ", ink, Face::mono);
            x += ui.text_within(x, y, room.x1 - x - ui.px(20), before, shown ? ui.theme->c2c : ink, Face::ui);
            ui.text(x, y, " )", ink, Face::mono);
            y += ui.px(26);
            seen.push_back(word(state, position));
        }
        Index orders = 1;
        for (Index n = 2; n <= static_cast<Index>(predicted.size()); ++n) orders *= n;
        ui.paragraph(room.x0, y, room.width(),
                     "One of " + grouped(orders) + " ways to write the same p(x); training draws among them.",
                     ui.theme->muted);
    }
    ui.draw().pop_clip();
}

void PermutationPage::draw_streams(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    PermutationState& state = scene.state.permutation;
    const Index length = static_cast<Index>(sentence(state).words.size()), chosen = shown_row(state);
    const std::vector<Index> given = given_of(cards(state));
    const std::string name = "\u201c" + word(state, chosen) + "\u201d";
    ui.text(room.x0, room.y0 + ui.px(8), "where " + name + " reads in one layer", theme.text, Face::title);
    ui.text(room.x1, room.y0 + ui.px(8),
            state.sentence == 0 ? "stronger line: more attention" : "click a row or a card", theme.muted,
            Face::mono_small, Align::right);
    const float names = ui.px(96), pitch = (room.width() - names) / static_cast<float>(length);
    const float g_y = room.y0 + ui.px(40), h_y = room.y0 + room.height() * 0.52f, words_y = room.y1 - ui.px(14);
    const auto x_of = [&](Index j) { return room.x0 + names + (static_cast<float>(j) + 0.5f) * pitch; };
    ui.text(room.x0, g_y - ui.px(7), "g  query", theme.c2p);
    ui.text(room.x0, g_y + ui.px(9), "starts as w", theme.muted, Face::label);
    ui.text(room.x0, h_y - ui.px(7), "h  content", theme.c2c);
    ui.text(room.x0, h_y + ui.px(9), "starts as word", theme.muted, Face::label);
    ui.text(room.x0, words_y, "layer below: h", theme.muted, Face::label);
    const float radius = ui.px(11);
    const auto line = [&](Index from, float to_y, ImU32 colour, std::optional<float> weight) {
        const float share = weight ? 0.15f + 0.85f * std::sqrt(*weight) : 0.85f;
        const ImVec2 a{x_of(from), words_y - ui.px(14)}, b{x_of(chosen), to_y + radius + ui.px(1)};
        const float bend = (a.y - b.y) * 0.5f;
        ui.draw().curve(a, {a.x, a.y - bend}, {b.x, b.y + bend}, b, faded(colour, share),
                        ui.px(weight ? 1.25f + 2.25f * *weight : 1.75f));
    };
    for (Index j = 0; j < length; ++j) {
        if (visible_.content(chosen, j)) line(j, h_y, theme.c2c, attention(state, false, chosen, j));
        if (visible_.query(chosen, j)) line(j, g_y, theme.c2p, attention(state, true, chosen, j));
    }
    for (Index j = 0; j < length; ++j) {
        const bool has_g = std::find(given.begin(), given.end(), j) == given.end(), here = j == chosen;
        const auto node = [&](float y, ImU32 colour, const char* letter) {
            ui.draw().disc({x_of(j), y}, radius, here ? colour : theme.background);
            ui.draw().circle({x_of(j), y}, radius, here ? colour : faded(colour, 0.55f), ui.px(1.5f));
            ui.text(x_of(j), y, letter, here ? theme.background : faded(colour, 0.8f), Face::label, Align::centre);
        };
        node(h_y, theme.c2c, "h");
        if (has_g) node(g_y, theme.c2p, "g");
        const float wide = std::min(pitch - ui.px(6), ui.text_width(word(state, j)) + ui.px(16));
        const Rect box{x_of(j) - wide / 2, words_y - ui.px(12), x_of(j) + wide / 2, words_y + ui.px(12)};
        ui.fill(box, theme.chip, 5);
        if (here) ui.outline(box, theme.accent, 2, 5);
        ui.text_within(box.middle_x(), words_y, wide - ui.px(6), word(state, j), theme.text, Face::ui, Align::centre);
        if (ui.touch(("word" + std::to_string(j)).c_str(), box).clicked) state.row = j;
    }
}

}  // namespace locus

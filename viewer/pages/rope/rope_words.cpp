// The score in words: which planes make it, what a shift does, whose vectors these are.
#include <algorithm>
#include <cmath>

#include "viewer/pages/rope/rope.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/formula_bar.h"
#include "viewer/ui/side_column.h"

namespace locus {

namespace {

std::string pair_of(Index m, Index n) { return "(" + std::to_string(m) + ", " + std::to_string(n) + ")"; }

std::string looks(Index at) {
    if (at == 0) return "at the token itself";
    const std::string steps = std::to_string(std::abs(at));
    return steps + (std::abs(at) == 1 ? " token " : " tokens ") + (at > 0 ? "back" : "ahead");
}

}  // namespace

void RopePage::draw_shifts(const Scene& scene, SideColumn& column) const {
    const RopeState& state = scene.state.rope;
    for (std::size_t t = 0; t < numbers_.steps.size(); ++t)
        scene.ui.note(("rope/plane " + std::to_string(t)).c_str(), numbers_.steps[t].x);
    scene.ui.note("rope/score", numbers_.score);
    column.heading("Only m \u2212 n counts", "q\u00b7k, the walk stays");
    column.row(pair_of(state.m, state.n), fixed(numbers_.unshifted, 6));
    for (std::size_t at = 0; at < numbers_.shifts.size(); ++at)
        column.row(pair_of(state.m + numbers_.shifts[at], state.n + numbers_.shifts[at]),
                   fixed(numbers_.shifted[at], 6));
    column.row("largest difference", brief(numbers_.difference), true);
    column.row("in float32, as a model", brief(numbers_.float32_difference));
    if (state.layout == 0)
        column.sentence("q\u00b7k is largest at m \u2212 n = " + whole(numbers_.largest_at) + ": it looks " +
                        looks(numbers_.largest_at) + ". The bound allows " +
                        brief(numbers_.ceiling / numbers_.largest) +
                        " times the largest: it bounds, it does not predict.");
    else
        column.sentence(
            "Trained interleaved, read half-split: other channels turn together, so the score is wrong. "
            "Reorder the rows of W_q and W_k along the wires and q\u00b7k is " +
            fixed(numbers_.permuted, 4) + ", as before.");
}

void RopePage::draw_vectors(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const auto& words = sentence().words();
    const Index tokens = static_cast<Index>(words.size());
    const ModelSizes sizes = sentence().sizes();
    const auto stepper = [&](const char* id, const std::string& name, ImU32 colour, const std::string& shown,
                             Index& value, Index high) {
        ui.text(column.left(), column.y(), name, colour);
        ui.stepper(id, column.right(), column.y(), shown, value, 0, high);
        column.skip(29);
    };
    const auto word = [&](Index token) { return words[static_cast<std::size_t>(token)] + " " + std::to_string(token); };
    const Index query = state.query, key = state.key;
    stepper("query", "query of the token", ui.theme->c2c, word(state.query), state.query, tokens - 1);
    stepper("key", "key of the token", ui.theme->c2p, word(state.key), state.key, tokens - 1);
    if (state.query != query) state.m = state.query;
    if (state.key != key) state.n = state.key;
    ui.layer_and_head(column.right(), column.y(), sizes.layers, state.layer, sizes.heads, state.head);
    column.skip(29);
}

void RopePage::draw_linear_formula(const Scene& scene, const Rect& bar) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const auto part = [](const std::string& text, ImU32 colour) { return Span{text, colour, Face::formula}; };
    const auto low = [](const std::string& text, ImU32 colour) { return Span{text, colour, Face::mono_tiny, -4}; };
    const std::vector<Span> line = {part("w", theme.text),         low("ij", theme.text),
                                    part(" = R", theme.text),      low("i", theme.text),
                                    part("\u03c6(q", theme.c2c),   low("i", theme.c2c),
                                    part(")", theme.c2c),          part(" \u00b7 R", theme.text),
                                    low("j", theme.text),          part("\u03c6(k", theme.c2p),
                                    low("j", theme.c2p),           part(")", theme.c2p),
                                    part(" / \u03a3", theme.text), low("j", theme.text),
                                    part(" \u03c6(q", theme.c2c),  low("i", theme.c2c),
                                    part(")", theme.c2c),          part("\u00b7", theme.text),
                                    part("\u03c6(k", theme.c2p),   low("j", theme.c2p),
                                    part(")", theme.c2p),          part(" = " + fixed(linear_.weight, 3), theme.text)};
    const float x = bar.x0 + ui.px(16), end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar, "this head's q and k, read as linear attention", end);
}

void RopePage::draw_formula(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    refresh(state);
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const auto low = [&](const std::string& text, ImU32 colour) { return Span{text, colour, Face::mono_tiny, -4}; };
    if (state.shown == 3) {
        draw_linear_formula(scene, bar);
        return;
    }
    const std::vector<Span> line = {plain("\u27e8R"),
                                    low("m", ui.theme->text),
                                    plain("q, R"),
                                    low("n", ui.theme->text),
                                    plain("k\u27e9 = \u03a3"),
                                    low("t", ui.theme->text),
                                    plain(" Re( "),
                                    {"q", ui.theme->c2c, Face::formula},
                                    low("t", ui.theme->c2c),
                                    {" k\u0304", ui.theme->c2p, Face::formula},
                                    low("t", ui.theme->c2p),
                                    plain(" e"),
                                    {"i(m\u2212n)\u03b8", ui.theme->text, Face::mono_tiny, 5},
                                    plain(" ) = " + fixed(numbers_.score, 3))};
    const float x = bar.x0 + ui.px(16), end = x + ui.spans(x, bar.middle_y(), line);
    std::string note = "\u03b8\u209c = " + grouped(static_cast<std::int64_t>(kRopeBases[state.base])) +
                       "^(\u22122t/d), d = " + std::to_string(numbers_.q.size());
    if (state.scaling != 0)
        note += ", " + std::string(to_string(static_cast<RopeScaling>(state.scaling))) +
                " s = " + std::to_string(state.factor) + ", trained on 64, read to 256";
    draw_bar_note(scene, bar, note, end);
}

}  // namespace locus

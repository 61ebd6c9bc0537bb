// The score in words: which planes make it, what a shift does, whose vectors these are.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "viewer/pages/rope/rope.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"
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
    if (stored_angles(state))
        column.sentence(
            "This checkpoint stores its own table of angles. The walk, the dials and the score above take "
            "it; what follows, and both curves, are of \u03b8 = 10 000^(\u22122t/d).");
    column.heading("Only m \u2212 n counts", "q\u00b7k, the walk stays");
    column.row(pair_of(state.m, state.n), compact(numbers_.unshifted, 6, 6));
    for (std::size_t at = 0; at < numbers_.shifts.size(); ++at)
        column.row(pair_of(state.m + numbers_.shifts[at], state.n + numbers_.shifts[at]),
                   compact(numbers_.shifted[at], 6, 6));
    column.row("largest difference", brief(numbers_.difference), true);
    column.row("in float32, as a model", brief(numbers_.float32_difference));
    if (!std::isfinite(numbers_.largest))
        column.sentence("q or k holds what is no number, so there is no largest q\u00b7k.");
    else if (state.layout == 0)
        column.sentence("q\u00b7k is largest at m \u2212 n = " + whole(numbers_.largest_at) + ": it looks " +
                        looks(numbers_.largest_at) + ". The bound allows " +
                        brief(numbers_.ceiling / numbers_.largest) +
                        " times the largest: it bounds, it does not predict.");
    else
        column.sentence(
            "Trained interleaved, read half-split: other channels are rotated together, so the score is wrong. "
            "Reorder the rows of W_q and W_k along the wires and q\u00b7k is " +
            compact(numbers_.permuted, 4) + ", as before.");
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
    const std::vector<Span> line = {
        part("w", theme.text),         low("ij", theme.text),
        part(" = R", theme.text),      low("i", theme.text),
        part("\u03c6(q", theme.c2c),   low("i", theme.c2c),
        part(")", theme.c2c),          part(" \u00b7 R", theme.text),
        low("j", theme.text),          part("\u03c6(k", theme.c2p),
        low("j", theme.c2p),           part(")", theme.c2p),
        part(" / \u03a3", theme.text), low("j", theme.text),
        part(" \u03c6(q", theme.c2c),  low("i", theme.c2c),
        part(")", theme.c2c),          part("\u00b7", theme.text),
        part("\u03c6(k", theme.c2p),   low("j", theme.c2p),
        part(")", theme.c2p),          part(" = " + compact(linear_.weight, 3), theme.text)};
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
                                    plain(" ) = " + compact(numbers_.score, 3))};
    const float x = bar.x0 + ui.px(16), end = x + ui.spans(x, bar.middle_y(), line);
    std::string note = "\u03b8\u209c = " + grouped(static_cast<std::int64_t>(kRopeBases[state.base])) +
                       "^(\u22122t/d), d = " + std::to_string(numbers_.q.size());
    if (state.scaling != 0)
        note += ", " + std::string(to_string(static_cast<RopeScaling>(state.scaling))) +
                " s = " + std::to_string(state.factor) + ", trained on 64, read to 256";
    if (stored_angles(state)) note = "angles: the checkpoint's own table";
    draw_bar_note(scene, bar, note, end);
}

// Why is this score what it is: planes, channels, sum, scale, softmax; or the two sums of linear attention.

namespace {

constexpr std::size_t kListed = 6;

/// A line of small numbers whose right ends are at these shares of the column.
void small_row(const Ui& ui, SideColumn& column, const std::string& name, const std::vector<std::string>& numbers,
               ImU32 colour) {
    const float first = column.left() + column.width() * 0.25f;
    ui.text_within(column.left(), column.y(), column.width() * 0.25f, name, colour, Face::mono_small);
    const float step = (column.right() - first) / static_cast<float>(numbers.size());
    for (std::size_t n = 0; n < numbers.size(); ++n)
        ui.text(first + step * static_cast<float>(n + 1), column.y(), numbers[n], colour, Face::mono_small,
                Align::right);
    column.skip(17);
}

}  // namespace

void RopePage::draw_side(Scene& scene, const Rect& area) {
    RopeState& state = scene.state.rope;
    refresh(state);
    const Ui& ui = scene.ui;
    const Ui::Scrolled scrolled(ui);
    SideColumn column(ui, area, scroll_);
    if (state.shown == 3)
        draw_linear_cell(scene, column);
    else
        draw_softmax_cell(scene, column);
    if (state.shown == 3)
        draw_lesson_links(scene, column, {{"20", "Linear attention and RoPE"}});
    else if (state.layout == 0)
        draw_lesson_links(scene, column,
                          {{"15", "One rotation"},
                           {"16", "RoPE in d dimensions"},
                           {"17", "Only n − m survives"},
                           {"18", "Long-term decay"}});
    else
        draw_lesson_links(scene, column, {{"19", "Two RoPE layouts"}});
    scroll_column(ui, column, area, scroll_);
}

void RopePage::draw_softmax_cell(Scene& scene, SideColumn& column) {
    RopeState& state = scene.state.rope;
    column.heading("Why is this score " + compact(cell_.score, 3) + "?", "m \u2212 n = " + whole(state.m - state.n));
    draw_vectors(scene, column);
    draw_planes(scene, column);
    draw_steps(scene, column);
    column.rule();
    draw_shifts(scene, column);
}

void RopePage::draw_planes(const Scene& scene, SideColumn& column) const {
    const Ui& ui = scene.ui;
    const RopeState& state = scene.state.rope;
    const auto distance = static_cast<double>(state.m - state.n);
    const bool stored = stored_angles(state) != nullptr;
    small_row(ui, column, "plane", {stored ? "" : "(m\u2212n)\u03b8", "product", "sum"}, ui.theme->muted);
    float slower = 0, sum = 0;
    for (std::size_t t = 0; t < cell_.planes.size(); ++t) {
        const RotatedPlane<float>& plane = cell_.planes[t];
        // Planes of neighbours follow one another in the sum; those of a half-split head do not.
        sum = state.layout == 0 ? cell_.running[static_cast<std::size_t>(plane.b)] : sum + plane.step;
        if (t < kListed)
            small_row(ui, column, std::to_string(t),
                      {stored ? "" : compact(distance * numbers_.frequencies.theta[t], 3), compact(plane.step, 4),
                       compact(sum, 4)},
                      plane_ == static_cast<int>(t) ? ui.theme->text : faded(ui.theme->text, 0.85f));
        else
            slower += plane.step;
    }
    if (cell_.planes.size() > kListed)
        small_row(ui, column, std::to_string(cell_.planes.size() - kListed) + " slower",
                  {"", compact(slower, 4), compact(cell_.sum, 4)}, faded(ui.theme->text, 0.85f));
    column.skip(5);
    draw_plane(scene, column, plane_ < 0 ? 0 : std::min(static_cast<std::size_t>(plane_), cell_.planes.size() - 1));
    draw_product_chart(
        ui, column, "products",
        {doubles(cell_.left), doubles(cell_.right), doubles(cell_.products), doubles(cell_.running), ui.theme->p2c});
}

void RopePage::draw_plane(const Scene& scene, SideColumn& column, std::size_t t) const {
    const Ui& ui = scene.ui;
    const RotatedPlane<float>& plane = cell_.planes[t];
    const auto pair = [](float a, float b) { return compact(a, 2, 0) + ", " + compact(b, 2, 0); };
    const auto line = [&](const std::string& name, const std::string& value, ImU32 colour) {
        ui.text(column.left(), column.y(), name, colour, Face::mono_small);
        ui.text(column.right(), column.y(), value, ui.theme->text, Face::mono_small, Align::right);
        column.skip(16);
    };
    const bool stored = stored_angles(scene.state.rope) != nullptr;
    line("plane " + std::to_string(t) + (stored ? "" : ", \u03b8 = " + brief(numbers_.frequencies.theta[t])),
         "channels " + std::to_string(plane.a) + ", " + std::to_string(plane.b), ui.theme->muted);
    line("q", pair(plane.q_a, plane.q_b) + " \u2192 " + pair(plane.q_a_rot, plane.q_b_rot), ui.theme->c2c);
    line("k", pair(plane.k_a, plane.k_b) + " \u2192 " + pair(plane.k_a_rot, plane.k_b_rot), ui.theme->c2p);
    line("q\u00b7k",
         compact(plane.product_a, 4) + (plane.product_b < 0 ? " \u2212 " : " + ") +
             compact(std::abs(plane.product_b), 4) + " = " + compact(plane.step, 4),
         ui.theme->p2c);
    column.skip(8);
}

void RopePage::draw_steps(Scene& scene, SideColumn& column) const {
    RopeState& state = scene.state.rope;
    scene.ui.note("microscope/sum", static_cast<double>(cell_.sum));
    scene.ui.note("microscope/score", static_cast<double>(cell_.score));
    if (is_own_cell(state)) scene.ui.note("microscope/probability", static_cast<double>(cell_.softmax.probability));
    column.row("sum", compact(cell_.sum, 4));
    column.row("\u00f7 \u221a" + std::to_string(cell_.left.size()), compact(cell_.score, 4), true);
    if (!is_own_cell(state)) {
        const bool at_tokens = state.m == state.query && state.n == state.key && state.shift.at == 0;
        column.sentence(at_tokens && state.scaling != 0
                            ? "With this scaling the angles are not the model\u2019s own, so there is no softmax row."
                            : "The sentence has no such positions or angles, so there is no row for a softmax.");
        if (column.link("back to the sentence")) choose(state, {state.query, state.key});
    } else if (!cell_.softmax.visible) {
        column.sentence("The mask hides this pair, so its probability is exactly 0.");
    } else {
        const SoftmaxSteps<float>& steps = cell_.softmax;
        column.row("\u2212 row maximum " + compact(steps.row_maximum, 4), compact(steps.shifted, 4));
        column.row("exp", compact(steps.exponential, 4));
        column.row("\u00f7 row sum " + compact(steps.denominator, 4), compact(steps.probability, 4), true);
    }
    if (column.link("copy as text")) {
        ImGui::SetClipboardText(explanation(state).c_str());
        scene.state.notice = "copied: every number of this cell";
    }
}

void RopePage::draw_linear_cell(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    ui.note("microscope/weight", static_cast<double>(linear_.weight));
    column.heading("Why is this weight " + compact(linear_.weight, 3) + "?", "no softmax");
    column.sentence(
        "exp(q\u00b7k) is replaced by \u03c6(q)\u00b7\u03c6(k), \u03c6(x) = elu(x) + 1, so the sums over keys are made "
        "once "
        "for all queries. Only the sum above the line is rotated, so weights may be negative.");
    draw_vectors(scene, column);
    draw_linear_keys(scene, column);
    column.row("above the line", compact(linear_.keys[static_cast<std::size_t>(linear_.j)].numerator, 4));
    column.row("\u00f7 sum below", compact(linear_.denominator, 4));
    column.row("weight", compact(linear_.weight, 4), true);
    draw_product_chart(ui, column, "linear products",
                       {doubles(linear_.left), doubles(linear_.right), doubles(linear_.products),
                        doubles(linear_.running), ui.theme->p2c});
    if (column.link("copy as text")) {
        ImGui::SetClipboardText(explanation(scene.state.rope).c_str());
        scene.state.notice = "copied: every number of this cell";
    }
}

void RopePage::draw_linear_keys(const Scene& scene, SideColumn& column) const {
    constexpr std::size_t kKeys = 12;
    const Ui& ui = scene.ui;
    const auto& keys = linear_.keys;
    // Of a long sentence those that add most, and the chosen one; the sums are those of all keys so far.
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    const auto chosen = static_cast<std::size_t>(linear_.j);
    if (order.size() > kKeys) {
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            if ((a == chosen) != (b == chosen)) return a == chosen;
            return std::abs(keys[a].numerator) > std::abs(keys[b].numerator);
        });
        order.resize(kKeys);
        std::sort(order.begin(), order.end());
    }
    small_row(ui, column, "key", {"above", "sum", "below", "sum"}, ui.theme->muted);
    for (const std::size_t j : order)
        small_row(ui, column, sentence().words()[j],
                  {compact(keys[j].numerator, 2, 0), compact(keys[j].running_numerator, 2, 0),
                   compact(keys[j].positive, 2, 0), compact(keys[j].running_denominator, 2, 0)},
                  j == chosen ? ui.theme->c2p : faded(ui.theme->text, 0.85f));
    if (keys.size() > order.size())
        small_row(ui, column, std::to_string(keys.size() - order.size()) + " others", {"", "", "", ""},
                  ui.theme->muted);
    column.skip(8);
}

}  // namespace locus

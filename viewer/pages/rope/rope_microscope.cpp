// Why is this score what it is: planes, channels, sum, scale, softmax; or the two sums of linear attention.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "viewer/pages/rope/rope.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/column_scroll.h"
#include "viewer/ui/lesson_links.h"
#include "viewer/ui/product_chart.h"

namespace locus {

namespace {

constexpr std::size_t kListed = 6;

/// A line of small numbers whose right ends stand at these shares of the column.
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

void RopePage::draw_side(Scene& scene, const Rect& room) {
    RopeState& state = scene.state.rope;
    refresh(state);
    const Ui& ui = scene.ui;
    const Ui::Scrolled scrolled(ui);
    SideColumn column(ui, room, scroll_);
    if (state.shown == 3)
        draw_linear_cell(scene, column);
    else
        draw_softmax_cell(scene, column);
    if (state.shown == 3)
        draw_lesson_links(scene, column, room, {{"20", "Linear attention and RoPE"}});
    else if (state.layout == 0)
        draw_lesson_links(scene, column, room, {{"17", "Only n − m survives"}, {"18", "Long-term decay"}});
    else
        draw_lesson_links(scene, column, room, {{"19", "Two RoPE layouts"}});
    scroll_by_wheel(ui, room, scroll_, column.y() + scroll_ - ui.px(8) - room.y1);
}

void RopePage::draw_softmax_cell(Scene& scene, SideColumn& column) {
    RopeState& state = scene.state.rope;
    column.heading("Why is this score " + fixed(cell_.score, 3) + "?", "m \u2212 n = " + whole(state.m - state.n));
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
    small_row(ui, column, "plane", {"(m\u2212n)\u03b8", "product", "sum"}, ui.theme->muted);
    float slower = 0, sum = 0;
    for (std::size_t t = 0; t < cell_.planes.size(); ++t) {
        const TurnedPlane<float>& plane = cell_.planes[t];
        // Planes of neighbours follow one another in the sum; those of a half-split head do not.
        sum = state.layout == 0 ? cell_.running[static_cast<std::size_t>(plane.b)] : sum + plane.step;
        if (t < kListed)
            small_row(ui, column, std::to_string(t),
                      {fixed(distance * numbers_.frequencies.theta[t], 3), fixed(plane.step, 4), fixed(sum, 4)},
                      plane_ == static_cast<int>(t) ? ui.theme->text : faded(ui.theme->text, 0.85f));
        else
            slower += plane.step;
    }
    if (cell_.planes.size() > kListed)
        small_row(ui, column, std::to_string(cell_.planes.size() - kListed) + " slower",
                  {"", fixed(slower, 4), fixed(cell_.sum, 4)}, faded(ui.theme->text, 0.85f));
    column.skip(5);
    draw_plane(scene, column, plane_ < 0 ? 0 : std::min(static_cast<std::size_t>(plane_), cell_.planes.size() - 1));
    draw_product_chart(
        ui, column, "products",
        {doubles(cell_.left), doubles(cell_.right), doubles(cell_.products), doubles(cell_.running), ui.theme->p2c});
}

void RopePage::draw_plane(const Scene& scene, SideColumn& column, std::size_t t) const {
    const Ui& ui = scene.ui;
    const TurnedPlane<float>& plane = cell_.planes[t];
    const auto pair = [](float a, float b) { return fixed(a, 2) + ", " + fixed(b, 2); };
    const auto line = [&](const std::string& name, const std::string& value, ImU32 colour) {
        ui.text(column.left(), column.y(), name, colour, Face::mono_small);
        ui.text(column.right(), column.y(), value, ui.theme->text, Face::mono_small, Align::right);
        column.skip(16);
    };
    line("plane " + std::to_string(t) + ", \u03b8 = " + brief(numbers_.frequencies.theta[t]),
         "channels " + std::to_string(plane.a) + ", " + std::to_string(plane.b), ui.theme->muted);
    line("q", pair(plane.q_a, plane.q_b) + " \u2192 " + pair(plane.q_a_rot, plane.q_b_rot), ui.theme->c2c);
    line("k", pair(plane.k_a, plane.k_b) + " \u2192 " + pair(plane.k_a_rot, plane.k_b_rot), ui.theme->c2p);
    line("q\u00b7k",
         fixed(plane.product_a, 4) + (plane.product_b < 0 ? " \u2212 " : " + ") + fixed(std::abs(plane.product_b), 4) +
             " = " + fixed(plane.step, 4),
         ui.theme->p2c);
    column.skip(8);
}

void RopePage::draw_steps(Scene& scene, SideColumn& column) const {
    RopeState& state = scene.state.rope;
    scene.ui.note("microscope/sum", static_cast<double>(cell_.sum));
    scene.ui.note("microscope/score", static_cast<double>(cell_.score));
    if (is_own_cell(state)) scene.ui.note("microscope/probability", static_cast<double>(cell_.softmax.probability));
    column.row("sum", fixed(cell_.sum, 4));
    column.row("\u00f7 \u221a" + std::to_string(cell_.left.size()), fixed(cell_.score, 4), true);
    if (!is_own_cell(state)) {
        column.sentence("The sentence has no such positions or angles, so there is no row for a softmax.");
        if (column.link("back to the sentence")) choose(state, {state.query, state.key});
    } else if (!cell_.softmax.visible) {
        column.sentence("The mask hides this pair, so its probability is exactly 0.");
    } else {
        const SoftmaxSteps<float>& steps = cell_.softmax;
        column.row("\u2212 row maximum " + fixed(steps.row_maximum, 4), fixed(steps.shifted, 4));
        column.row("exp", fixed(steps.exponential, 4));
        column.row("\u00f7 row sum " + fixed(steps.denominator, 4), fixed(steps.probability, 4), true);
    }
    if (column.link("copy as text")) {
        ImGui::SetClipboardText(explanation(state).c_str());
        scene.state.notice = "copied: every number of this cell";
    }
}

void RopePage::draw_linear_cell(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    ui.note("microscope/weight", static_cast<double>(linear_.weight));
    column.heading("Why is this weight " + fixed(linear_.weight, 3) + "?", "no softmax");
    column.sentence(
        "exp(q\u00b7k) gives way to \u03c6(q)\u00b7\u03c6(k), \u03c6(x) = elu(x) + 1, so the sums over keys are made "
        "once "
        "for all queries. The turn stands above the line alone: weights may be negative.");
    draw_vectors(scene, column);
    draw_linear_keys(scene, column);
    column.row("above the line", fixed(linear_.keys[static_cast<std::size_t>(linear_.j)].numerator, 4));
    column.row("\u00f7 sum below", fixed(linear_.denominator, 4));
    column.row("weight", fixed(linear_.weight, 4), true);
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
                  {fixed(keys[j].numerator, 2), fixed(keys[j].running_numerator, 2), fixed(keys[j].positive, 2),
                   fixed(keys[j].running_denominator, 2)},
                  j == chosen ? ui.theme->c2p : faded(ui.theme->text, 0.85f));
    if (keys.size() > order.size())
        small_row(ui, column, std::to_string(keys.size() - order.size()) + " others", {"", "", "", ""},
                  ui.theme->muted);
    column.skip(8);
}

}  // namespace locus

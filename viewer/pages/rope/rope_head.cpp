// The middle of the page: the walk of one score, or the whole head as a matrix whose cells can be chosen.
#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/pages/rope/rope.h"
#include "viewer/plots/cell_text.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

constexpr Index kOwnBase = 2;  // 10 000
constexpr std::size_t kLinear = 3;
constexpr std::array<const char*, 4> kNotes = {"real part = q\u00b7k", "q\u00b7k / \u221ad", "softmax over j",
                                               "\u03c6(q)\u00b7\u03c6(k) / sum"};

/// One row of a table at a position that need not be whole.
RotaryTable<float> table_at(const RopeFrequencies& frequencies, double position) {
    const auto planes = static_cast<Index>(frequencies.theta.size());
    RotaryTable<float> table{Matrix<float>(1, planes), Matrix<float>(1, planes)};
    for (Index t = 0; t < planes; ++t) {
        const double angle = position * frequencies.theta[static_cast<std::size_t>(t)];
        table.sin(0, t) = static_cast<float>(std::sin(angle) * frequencies.attention_factor);
        table.cos(0, t) = static_cast<float>(std::cos(angle) * frequencies.attention_factor);
    }
    return table;
}

}  // namespace

bool RopePage::is_own_cell(const RopeState& state) const {
    return state.m == state.query && state.n == state.key && state.shift.at == 0 && state.base == kOwnBase &&
           state.scaling == 0 && state.layout == 0;
}

const RotaryTable<float>* RopePage::stored_angles(const RopeState& state) const {
    return sentence().has_own_table() && is_own_cell(state) ? &sentence().angles() : nullptr;
}

void RopePage::choose(RopeState& state, Cell cell) const {
    state.m = state.query = cell.i;
    state.n = state.key = cell.j;
    state.shift.at = 0;
    state.shift.playing = false;
    state.base = kOwnBase;
    state.scaling = 0;
    state.layout = 0;
}

RotaryHeadTensors<float> RopePage::placed_head(const RopeState& state) const {
    const auto at = [&](Index position) {
        return table_at(numbers_.frequencies, static_cast<double>(position) + state.shift.at);
    };
    const auto row = [&](const char* stem, Index token) -> Matrix<float> {
        return sentence().rows(stem, state.layer, state.head).row(token);
    };
    return {row("q", state.query), row("k", state.key), at(state.m), at(state.n), layout_of(state), {}};
}

void RopePage::explain(const RopeState& state) {
    const RotarySentence& shown = sentence();
    const Matrix<float> q = shown.rows("q", state.layer, state.head), k = shown.rows("k", state.layer, state.head);
    if (is_own_cell(state))
        cell_ = explain_rotary_cell<float>(
            {q, k, shown.angles(), shown.angles(), RotaryLayout::interleaved, shown.visible()}, state.query, state.key);
    else
        cell_ = explain_rotary_cell<float>(placed_head(state), 0, 0);
    linear_ = shown.explain_linear(state.layer, state.head, state.query, state.key);
}

std::string RopePage::explanation(const RopeState& state) const {
    const RotarySentence& shown = sentence();
    ExplainedPair pair{shown.name() + ", layer " + std::to_string(state.layer) + ", head " + std::to_string(state.head),
                       shown.words()[static_cast<std::size_t>(state.query)],
                       shown.words()[static_cast<std::size_t>(state.key)], state.query, state.key};
    if (state.shown == kLinear) return cell_text(linear_, pair, shown.words());
    pair.m = state.m;
    pair.n = state.n;
    return cell_text(cell_, pair, numbers_.frequencies.theta, is_own_cell(state));
}

void RopePage::draw_middle(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const float y = area.y0 + ui.px(10);
    const float end =
        ui.choice("shown", area.x0, y, {"walk", "scores", "probabilities", "linear"}, state.shown) + ui.px(10);
    // The column may take other angles; the matrix is the model's.
    const bool own = state.shown == 0 || (state.base == kOwnBase && state.scaling == 0 && state.layout == 0);
    ui.text_within(area.x1, y, area.x1 - end,
                   std::string(kNotes[state.shown]) + (own ? "" : ", the model's own angles"),
                   own ? ui.theme->muted : ui.theme->accent, Face::mono_small, Align::right);
    const Rect inside{area.x0, area.y0 + ui.px(32), area.x1, area.y1};
    if (state.shown == 0)
        draw_walk(scene, inside);
    else
        draw_head(scene, inside);
}

void RopePage::show_attention(const PictureVersion& version, const Matrix<float>& attention, const Mask& visible) {
    head_.show(version, attention, visible, MapKind::sequential, probability_range(attention));
}

void RopePage::draw_head(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const RotarySentence& shown = sentence();
    const PictureVersion version{source_.serial(),
                                 (state.layer * shown.sizes().heads + state.head) * 4 + static_cast<Index>(state.shown),
                                 scene.state.theme};
    if (head_version_ != version) {
        const Index layer = state.layer, head = state.head;
        if (state.shown == kLinear)
            head_.show(version, shown.linear_weights(layer, head), shown.visible(), MapKind::diverging);
        else if (state.shown == 1)
            head_.show(version, shown.scores(layer, head), shown.visible(), MapKind::diverging);
        else
            show_attention(version, shown.attention(layer, head), shown.visible());
        head_version_ = version;
    }
    if (labels_.serial != source_.serial()) {
        labels_.serial = source_.serial();
        labels_.labels = shown.words();
    }
    const float names = widest_label(ui, labels_, ui.px(76)) + ui.px(8), legend = ui.px(24);
    const float side = std::floor(std::min(area.width() - names, area.height() - names - legend));
    const float x = area.x0 + names + std::max(0.0f, std::floor((area.width() - names - side) / 2));
    const float y = area.y0 + names;
    const Rect cells{x, y, x + side, y + side};
    bool clicked = false;
    const auto cell = explore(ui, "head", cells, shown.length(), state.view, clicked);
    if (cell && clicked) choose(state, *cell);
    head_.draw(ui, cells, state.view);
    head_.draw_crosshair(ui, cells, state.view, {state.query, state.key});
    head_.draw_legend(ui, cells.x0, cells.y1 + ui.px(12));
    draw_row_labels(ui, labels_, cells, state.view, state.query);
    draw_column_labels(ui, labels_, cells, state.view, state.key);
    if (cell) draw_head_tooltip(scene, *cell);
}

void RopePage::draw_head_tooltip(const Scene& scene, Cell cell) const {
    const Theme& theme = *scene.ui.theme;
    const auto word = [&](Index token) { return sentence().words()[static_cast<std::size_t>(token)]; };
    const std::string value =
        head_.hidden(cell.i, cell.j) ? "hidden by the mask" : compact(head_.values()(cell.i, cell.j), 4);
    draw_tooltip(
        scene.ui,
        {{{word(cell.i), theme.text},
          {head_.hidden(cell.i, cell.j) ? " does not see " : " looks at ", theme.muted},
          {word(cell.j), theme.text}},
         {{"m " + std::to_string(cell.i) + "  n " + std::to_string(cell.j) + "  " + direction(cell.i - cell.j),
           theme.muted, Face::mono_small}},
         {{std::string(kNotes[scene.state.rope.shown]) + "  ", theme.muted}, {value, theme.text, Face::mono}}});
}

}  // namespace locus

// Positions: from the offset i - j to a row of the relative table, for every pair at once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/fast/slices.h"
#include "core/positions/fire.h"
#include "core/positions/offset_bias.h"
#include "core/positions/relative_buckets.h"
#include "viewer/page.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"
#include "viewer/plots/plot_layout.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

namespace locus {

/// How an offset gets its row: one of its own, one that it shares by the logarithm, or the one of all beyond the edge.
enum class Part { itself, logarithm, edge };

class PositionsPage : public Page {
public:
    const char* name() const override { return "positions"; }
    const char* title() const override { return "Positions"; }
    char key() const override { return '1'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
    ModelCard card(const Scene& scene) override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;

private:
    void refresh(Scene& scene);
    void draw_matrix(Scene& scene, const Rect& cells, int which, std::optional<Cell>& pointed);
    void draw_numbers(const Scene& scene, const Rect& cells) const;
    Heatmap::Shade sharing(const PositionsState& state) const;
    void draw_edge(const Scene& scene, const Rect& cells) const;
    void draw_sharing(const Scene& scene, SideColumn& column) const;
    void draw_numbers_instead(const Scene& scene, SideColumn& column) const;
    void draw_own_values(Scene& scene, SideColumn& column) const;
    void draw_staircase(Scene& scene, const Rect& area);
    /// Which part of the line serves an offset: by whether another offset of the page has the same row.
    Part part_of(const PositionsState& state, Index offset) const;
    Index mid(const PositionsState& state) const { return static_cast<Index>(state.span) / 2; }

    std::string made_for_;
    std::uint64_t version_ = 0;
    std::optional<RelativeBuckets> line_;
    std::vector<Index> sharing_;  // how many offsets of the page have a row
    Heatmap offsets_, rows_;
    float side_scroll_ = 0;
};

/// The dialect decides what happens beyond the farthest offset, as it does in a model.
OffsetClamp clamp_of(const State& state) { return DebertaOptions::of(state.dialect).offset_clamp; }

namespace {

/// M from which every offset of the page has a bucket: beyond half the buckets the logarithm must rise, unless offsets
/// are clamped to M first.
double least_farthest(const PositionsState& state, OffsetClamp clamp) {
    const double half = std::floor(state.span / 2);
    return clamp == OffsetClamp::official || state.length <= half + 1 ? 2 : half + 2;
}

/// The table of a model, as the controls of this page set one.
struct OwnTable {
    std::size_t kind = 0;
    Index span = 0, farthest = 0;
};

/// Nothing for a model without relative positions.
std::optional<OwnTable> table_of(const DebertaConfig& config) {
    if (!config.relative_attention) return std::nullopt;
    const bool logarithmic = config.position_buckets > 0;
    return OwnTable{logarithmic ? 1u : 0u, config.span(), logarithmic ? config.max_relative_positions : 0};
}

bool shows(const PositionsState& state, const OwnTable& own) {
    return state.kind == own.kind && state.span == static_cast<double>(own.span) &&
           (own.kind == 0 || state.farthest == static_cast<double>(own.farthest));
}

}  // namespace

ModelCard PositionsPage::card(const Scene& scene) {
    const auto own = table_of(scene.session.config());
    if (own && shows(scene.state.positions, *own)) return {scene.session.name(), "its own table"};
    return {"example values", "not those of " + scene.ui.cut(scene.session.name(), scene.ui.px(120))};
}

float PositionsPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    PositionsState& state = scene.state.positions;
    const float y = bar.middle_y(), width = ui.px(104);
    float x = bar.x0 + ui.px(16);
    const auto slider = [&](const char* id, const std::string& name, double& value, double low, double high,
                            double step) {
        x += ui.text(x, y, name, ui.theme->muted) + ui.px(8);
        ui.slider(id, x, y, width, value, low, high, step);
        x += width + ui.px(8);
        ui.text(x + ui.px(26), y, grouped(static_cast<std::int64_t>(value)), ui.theme->text, Face::mono, Align::right);
        x += ui.px(44);
    };
    slider("length", "tokens T", state.length, 2, 64, 1);
    const bool logarithmic = state.kind == 1;
    slider("span", "span k", state.span, 2, 64, 2);
    if (logarithmic) {
        const double least = least_farthest(state, clamp_of(scene.state));
        state.farthest = std::max(state.farthest, least);
        slider("farthest", "farthest M", state.farthest, least, 128, 1);
    }
    const float end = bar.x1 - ui.px(16);
    const float wide = ui.text_width("clamp") + ui.text_width("log buckets") + ui.px(44);
    ui.choice("kind", end - wide, y, {"clamp", "log buckets"}, state.kind);
    return end - wide;
}

void PositionsPage::refresh(Scene& scene) {
    PositionsState& state = scene.state.positions;
    const OffsetClamp clamp = clamp_of(scene.state);
    const auto length = static_cast<Index>(state.length), span = static_cast<Index>(state.span);
    // The controls keep this as well, but they are not drawn while the sentence is edited.
    if (state.kind == 1) state.farthest = std::max(state.farthest, least_farthest(state, clamp));
    const auto farthest = static_cast<Index>(state.farthest);
    const std::string made = std::to_string(length) + " " + std::to_string(span) + " " + std::to_string(farthest) +
                             " " + std::to_string(state.kind) + (clamp == OffsetClamp::hf ? "h" : "o");
    state.cell = {std::min(state.cell.i, length - 1), std::min(state.cell.j, length - 1)};
    if (made != made_for_) {
        made_for_ = made;
        ++version_;
        line_ = state.kind == 1 ? RelativeBuckets::logarithmic(length, length, span, farthest, clamp)
                                : RelativeBuckets::clamped(length, length, span);
        sharing_.assign(static_cast<std::size_t>(2 * line_->span()), 0);
        for (Index offset = 1 - length; offset < length; ++offset)
            ++sharing_[static_cast<std::size_t>(line_->row_of_offset(offset))];
    }
    Matrix<float> offsets(length, length), rows(length, length);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) {
            offsets(i, j) = static_cast<float>(i - j);
            rows(i, j) = static_cast<float>(line_->row(i, j));
        }
    const PictureVersion version{version_, 0, scene.state.theme};
    offsets_.show(version, offsets, {}, MapKind::diverging);
    rows_.show(version, rows, {}, MapKind::diverging, ValueRange{0, static_cast<double>(2 * span - 1)});
}

Part PositionsPage::part_of(const PositionsState& state, Index offset) const {
    if (sharing_[static_cast<std::size_t>(line_->row_of_offset(offset))] == 1) return Part::itself;
    const bool beyond = state.kind == 0 || std::abs(offset) >= static_cast<Index>(state.farthest) - 1;
    return beyond ? Part::edge : Part::logarithm;
}

void PositionsPage::draw(Scene& scene, const Rect& area) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    const float numbers = ui.px(40), title = ui.px(22), legend = ui.px(22), head = ui.px(30);
    const float stairs = std::max(ui.px(150), inside.height() * 0.27f);
    const float by_height = inside.height() - 2 * title - head - legend - ui.px(14) - stairs;
    const float by_width = (inside.width() - 2 * numbers - ui.px(24)) / 2;
    const float side = std::floor(std::max(ui.px(80), std::min(by_height, by_width)));
    const float half = inside.width() / 2;
    std::optional<Cell> pointed;
    for (int which = 0; which < 2; ++which) {
        const float x = inside.x0 + numbers + (which == 0 ? 0 : half + ui.px(6));
        const float y = inside.y0 + title + head;
        draw_matrix(scene, {x, y, x + side, y + side}, which, pointed);
    }
    PositionsState& state = scene.state.positions;
    if (pointed && !state.locked) state.cell = *pointed;
    const float below = inside.y0 + title + head + side + legend + ui.px(14);
    draw_staircase(scene, {inside.x0, below, inside.x1, inside.y1});
}

bool PositionsPage::press(Scene& scene, const KeyPress& press) {
    PositionsState& state = scene.state.positions;
    if (press.character == 'x') {
        state.kind = 1 - state.kind;
        return true;
    }
    return move_cell(state.cell, state.locked, state.view, static_cast<Index>(state.length), press);
}

std::vector<NamedMatrix> PositionsPage::numbers(const Scene& scene) {
    if (!line_) return {};
    const auto length = static_cast<Index>(scene.state.positions.length);
    const auto matrix_of = [&](const char* id, const char* title, const char* stage, auto number) {
        IndexTensor values({length, length});
        for (Index n = 0; n < values.size(); ++n) values[n] = number(n / length, n % length);
        NamedMatrix matrix = named_matrix(id, title, stage, Matrix<float>(0, 0));
        matrix.stage.values = std::move(values);
        return matrix;
    };
    std::vector<NamedMatrix> matrices = {
        matrix_of("offsets", "how far is j from i?", "offsets", [](Index i, Index j) { return i - j; }),
        matrix_of("rows", "which row of the table?", "relative.index",
                  [&](Index i, Index j) { return line_->row(i, j); })};
    matrices[1].range = rows_.range();
    return matrices;
}

std::unique_ptr<Page> make_positions_page() { return std::make_unique<PositionsPage>(); }

// Two matrices over the same pairs, and the staircase between them.

void PositionsPage::draw_matrix(Scene& scene, const Rect& cells, int which, std::optional<Cell>& pointed) {
    const Ui& ui = scene.ui;
    PositionsState& state = scene.state.positions;
    const Heatmap& heatmap = which == 0 ? offsets_ : rows_;
    const float title_y = cells.y0 - ui.px(44);
    ui.text(cells.x0, title_y, which == 0 ? "how far is j from i?" : "which row of the table?", ui.theme->text,
            Face::title);
    ui.text(cells.x1, title_y, which == 0 ? "i \u2212 j" : "\u03b4(i, j)", ui.theme->muted, Face::mono_small,
            Align::right);
    bool clicked = false;
    const auto length = static_cast<Index>(state.length);
    const std::optional<Cell> cell = explore(ui, which == 0 ? "offsets" : "rows", cells, length, state.view, clicked);
    state.view.clamp(length);
    if (cell) pointed = cell;
    if (cell && clicked) {
        state.locked = !(state.locked && state.cell == *cell);
        state.cell = *cell;
    }
    heatmap.draw(ui, cells, state.view, sharing(state));
    if (which == 1) draw_edge(scene, cells);
    heatmap.draw_crosshair(ui, cells, state.view, state.cell);
    draw_numbers(scene, cells);
    draw_row_title(ui, cells, cells.x0 - ui.px(32), "query position i");
    ui.text(cells.middle_x(), cells.y0 - ui.px(25), "key position j", ui.theme->muted, Face::label, Align::centre);
    heatmap.draw_legend(ui, cells.x0, cells.y1 + ui.px(11));
    if (which == 1)
        ui.text(cells.x1, cells.y1 + ui.px(11),
                several(2 * line_->span(), "row") + ", " + several(std::ssize(offset_runs(*line_)), "run"),
                ui.theme->muted, Face::mono_small, Align::right);
    else
        ui.text(cells.x1, cells.y1 + ui.px(11), "equal along diagonals", ui.theme->muted, Face::mono_small,
                Align::right);
}

void PositionsPage::draw_numbers(const Scene& scene, const Rect& cells) const {
    const Ui& ui = scene.ui;
    const PositionsState& state = scene.state.positions;
    const auto length = static_cast<Index>(state.length);
    const double side = state.view.shown(length);
    const auto fit = static_cast<int>(cells.width() / ui.px(36));
    const auto ticks = [&](double first) { return whole_ticks(std::ceil(first), std::floor(first + side - 1), fit); };
    for (const double tick : ticks(state.view.first_i)) {
        const Rect row = cell_rect(cells, state.view, length, {static_cast<Index>(tick), 0});
        ui.text(cells.x0 - ui.px(6), row.middle_y(), whole(static_cast<Index>(tick)),
                static_cast<Index>(tick) == state.cell.i ? ui.theme->text : ui.theme->muted, Face::mono_small,
                Align::right);
    }
    for (const double tick : ticks(state.view.first_j)) {
        const Rect column = cell_rect(cells, state.view, length, {0, static_cast<Index>(tick)});
        ui.text(column.middle_x(), cells.y0 - ui.px(9), whole(static_cast<Index>(tick)),
                static_cast<Index>(tick) == state.cell.j ? ui.theme->text : ui.theme->muted, Face::mono_small,
                Align::centre);
    }
}

/// Pairs that share the row of the chosen one: darkest where the offset is the same, too.
Heatmap::Shade PositionsPage::sharing(const PositionsState& state) const {
    const Index offset = state.cell.i - state.cell.j, row = line_->row(state.cell.i, state.cell.j);
    return [this, offset, row](Index i, Index j) {
        return line_->row(i, j) != row ? 0.0f : i - j == offset ? 0.45f : 0.16f;
    };
}

void PositionsPage::draw_edge(const Scene& scene, const Rect& cells) const {
    const Ui& ui = scene.ui;
    const PositionsState& state = scene.state.positions;
    const auto length = static_cast<Index>(state.length);
    const auto is_edge = [&](Index i, Index j) { return part_of(state, i - j) == Part::edge; };
    ui.draw().push_clip(cells.min(), cells.max());
    // The border between the corners that share one row and the cells that still have others; first a wider one in the
    // background's colour, so that it stands out on every shade.
    for (const bool halo : {true, false})
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j) {
                const ImU32 colour = halo ? ui.theme->background : ui.theme->p2p;
                const float width = halo ? ui.px(2) : ui.px(1);
                const Rect cell = cell_rect(cells, state.view, length, {i, j});
                if (j > 0 && is_edge(i, j) != is_edge(i, j - 1))
                    ui.fill({cell.x0 - width, cell.y0 - width, cell.x0 + width, cell.y1 + width}, colour);
                if (i > 0 && is_edge(i, j) != is_edge(i - 1, j))
                    ui.fill({cell.x0 - width, cell.y0 - width, cell.x1 + width, cell.y0 + width}, colour);
            }
    ui.draw().pop_clip();
}

void PositionsPage::draw_staircase(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    PositionsState& state = scene.state.positions;
    ui.text(area.x0, area.y0 + ui.px(8), "from offset to row", ui.theme->text, Face::title);
    ui.text(area.x1, area.y0 + ui.px(8), "row over i \u2212 j", ui.theme->muted, Face::mono_small, Align::right);
    // One curve per part of the line, so that each keeps its colour; a gap where another part goes on.
    const auto length = static_cast<Index>(state.length);
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    LinePlot plot;
    plot.first_x = static_cast<double>(1 - length);
    plot.steps = true;
    plot.x_name = "i \u2212 j";
    plot.decimals = 0;
    plot.high = static_cast<double>(2 * line_->span()) - 0.5;  // the last row stands clear of the frame
    plot.marked_x = static_cast<double>(state.cell.i - state.cell.j);
    const std::vector<double> empty(static_cast<std::size_t>(2 * length - 1), nothing);
    plot.curves = {{empty, ui.theme->text, "its own row"},
                   {empty, ui.theme->muted, "logarithm"},
                   {empty, ui.theme->p2p, "edge, shared"}};
    for (Index offset = 1 - length; offset < length; ++offset)
        plot.curves[static_cast<std::size_t>(part_of(state, offset))]
            .values[static_cast<std::size_t>(offset + length - 1)] = static_cast<double>(line_->row_of_offset(offset));
    ui.note("positions/own", static_cast<double>(std::count(sharing_.begin(), sharing_.end(), 1)));
    float x = area.x0 + ui.text_width("from offset to row", Face::title) + ui.px(20);
    for (const Curve& curve : plot.curves) {
        if (state.kind == 0 && curve.name == "logarithm") continue;
        ui.fill({x, area.y0 + ui.px(7), x + ui.px(14), area.y0 + ui.px(9)}, curve.colour);
        x += ui.px(20);
        x += ui.text(x, area.y0 + ui.px(8), curve.name, ui.theme->muted, Face::label) + ui.px(16);
    }
    const auto under =
        draw_line_plot(ui, "staircase", {area.x0 - ui.px(8), area.y0 + ui.px(22), area.x1, area.y1}, plot);
    if (!under || state.locked) return;
    const auto offset = static_cast<Index>(*under);
    state.cell = offset >= 0 ? Cell{std::max(offset, state.cell.i), 0} : Cell{0, 0};
    state.cell.j = state.cell.i - offset;
    if (state.cell.j >= length) state.cell = {length - 1 + offset, length - 1};
}

/// What follows where offsets are not clamped to M first: which keys of `length` tokens use row 0.
static std::string unclamped(const RelativeBuckets& line, Index length) {
    for (Index right = 1; right < length; ++right)
        if (line.row_of_offset(-right) == 0)
            return "hf does not clamp offsets to M first, so keys " + std::to_string(right) +
                   (right + 1 < length ? " or more to the right use row 0." : " to the right use row 0.");
    return "hf does not clamp offsets to M first; here no key is far enough to the right for that to matter.";
}

// The pair in words: its offset, its bucket, its row, and who shares it.

void PositionsPage::draw_side(Scene& scene, const Rect& area) {
    refresh(scene);
    const PositionsState& state = scene.state.positions;
    const Cell cell = state.cell;
    const Index offset = cell.i - cell.j, row = line_->row(cell.i, cell.j), span = line_->span();
    const auto length = static_cast<Index>(state.length);
    const Ui::Scrolled scrolled(scene.ui);
    SideColumn column(scene.ui, area, side_scroll_);
    column.heading("Why row " + std::to_string(row) + "?", std::string(state.locked ? "locked " : "") + "(" +
                                                               std::to_string(cell.i) + ", " + std::to_string(cell.j) +
                                                               ")");
    const std::string where = offset == 0 ? "Token " + std::to_string(cell.i) + " looks at itself."
                                          : "Token " + std::to_string(cell.i) + " looks at token " +
                                                std::to_string(cell.j) + ", " + direction(offset) + ".";
    column.sentence(where, false);
    column.row("i \u2212 j", whole(offset));
    if (state.kind == 0) {
        column.row("clamped to \u2212" + std::to_string(span) + " \u2026 " + std::to_string(span - 1),
                   whole(row - span));
    } else {
        const Index farthest = static_cast<Index>(state.farthest) - 1;
        if (clamp_of(scene.state) == OffsetClamp::official)
            column.row("clamped to \u00b1(M \u2212 1) = \u00b1" + std::to_string(farthest),
                       whole(std::clamp(offset, -farthest, farthest)));
        const std::int64_t bucket = log_bucket(offset, span, farthest + 1, clamp_of(scene.state));
        column.row(std::abs(bucket) <= mid(state)
                       ? "bucket (|i\u2212j| \u2264 " + std::to_string(mid(state)) + ": itself)"
                       : "bucket (logarithm beyond " + std::to_string(mid(state)) + ")",
                   whole(bucket));
    }
    column.row("+ span k = " + std::to_string(span) + " \u2192 row", std::to_string(row), true);
    column.rule();
    draw_sharing(scene, column);
    column.rule();
    column.heading("The matrix is Toeplitz", several(2 * length - 1, "number"));
    const auto runs = std::ssize(offset_runs(*line_));
    column.sentence("Every diagonal holds one value. The offsets make " + std::to_string(runs) +
                    (runs == 1 ? " run that is flat or rises by one" : " runs that are flat or rise by one") +
                    "; the fast path adds whole runs.");
    if (state.kind == 1)
        column.sentence(clamp_of(scene.state) == OffsetClamp::hf
                            ? unclamped(*line_, length)
                            : "official clamps offsets to \u00b1(M \u2212 1) first: row 0 is never used.");
    draw_own_values(scene, column);
    column.rule();
    draw_numbers_instead(scene, column);
    draw_lesson_links(scene, column,
                      {{"05", "Relative position matrix"},
                       {"06", "Log buckets"},
                       {"07", "Gather by hand"},
                       {"27", "One table, seven schemes"}});
    scroll_column(scene.ui, column, area, side_scroll_);
}

/// The opened model's own values, with a way to them; the page opens on smaller ones, whose every part can be seen.
void PositionsPage::draw_own_values(Scene& scene, SideColumn& column) const {
    const auto own = table_of(scene.session.config());
    PositionsState& state = scene.state.positions;
    if (!own || shows(state, *own)) return;
    const std::string name = scene.ui.cut(scene.session.name(), column.width() * 0.4f);
    std::string values = name + ": k = " + std::to_string(own->span);
    if (own->kind == 1) values += ", M = " + std::to_string(own->farthest);
    if (!column.link(values)) return;
    state.kind = own->kind;
    state.span = static_cast<double>(own->span);
    if (own->kind == 1) state.farthest = static_cast<double>(own->farthest);
}

/// What schemes without a table of vectors add to the score of the pair: T5 learns one number a bucket, ALiBi has a
/// slope, FIRE learns a function of a ratio.  The last alone is not equal along a diagonal.
void PositionsPage::draw_numbers_instead(const Scene& scene, SideColumn& column) const {
    const Cell cell = scene.state.positions.cell;
    const Index offset = cell.i - cell.j;
    column.heading("Schemes with numbers", "no vectors");
    column.row("T5: bucket", std::to_string(t5_bucket(-offset, T5Buckets())) + " of 32");
    column.row("ALiBi: \u2212m |i \u2212 j|, m = 1/2",
               fixed(0 - alibi_slopes(8).front() * static_cast<double>(std::abs(offset)), 1));
    const double ratio = offset < 0 ? 0 : fire_ratio(0.1, 8.0, cell.i, cell.j);
    column.row("FIRE: \u03c8(i\u2212j) / \u03c8(max(8, i))", offset < 0 ? "hidden" : fixed(ratio, 3));
    scene.ui.note("positions/fire", ratio);
}

void PositionsPage::draw_sharing(const Scene& scene, SideColumn& column) const {
    const PositionsState& state = scene.state.positions;
    const Index offset = state.cell.i - state.cell.j, row = line_->row(state.cell.i, state.cell.j);
    const Part part = part_of(state, offset);
    const Index sharing = sharing_[static_cast<std::size_t>(row)];
    Index pairs = 0;
    const auto length = static_cast<Index>(state.length);
    for (Index o = 1 - length; o < length; ++o)
        if (line_->row_of_offset(o) == row) pairs += length - std::abs(o);
    const auto note = [&](const char* id, Index value) { scene.ui.note(id, static_cast<double>(value)); };
    note("positions/offset", offset);
    note("positions/row", row);
    note("positions/sharing", sharing);
    note("positions/pairs", pairs);
    column.heading("Who shares row " + std::to_string(row) + "?", "of " + std::to_string(2 * line_->span()));
    column.row("offsets", std::to_string(sharing));
    column.row("pairs of tokens", std::to_string(pairs));
    column.sentence(
        part == Part::itself      ? "One offset has this row to itself: the model tells it apart from all others."
        : part == Part::logarithm ? "Far tokens share rows, and the farther the more: roughly where is enough."
                                  : "From the edge on every offset gets the same row: farther cannot be told apart.");
}

void PositionsPage::draw_formula(Scene& scene, const Rect& bar) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const PositionsState& state = scene.state.positions;
    const Index offset = state.cell.i - state.cell.j, row = line_->row(state.cell.i, state.cell.j);
    const std::string span = std::to_string(line_->span());
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const std::string inner =
        state.kind == 0 ? whole(offset) + " + " + span : "bucket(" + whole(offset) + ") + " + span;
    const float x = bar.x0 + ui.px(16);
    const float end =
        ui.spans(x, bar.middle_y(),
                 {plain("\u03b4(" + std::to_string(state.cell.i) + ", " + std::to_string(state.cell.j) + ") = clamp( "),
                  {inner, ui.theme->c2p, Face::formula},
                  plain(", 0, 2k \u2212 1 ) = " + std::to_string(row))});
    draw_bar_note(scene, bar, "the same table serves every layer and every head", x + end);
}

}  // namespace locus

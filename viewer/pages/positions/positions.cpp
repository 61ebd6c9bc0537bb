// The page: sliders, the line they make, where everything stands, keys.
#include "viewer/pages/positions/positions.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"

namespace locus {

OffsetClamp clamp_of(const State& state) { return DebertaOptions::of(state.dialect).offset_clamp; }

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
    slider("span", logarithmic ? "buckets k" : "span k", state.span, 2, 64, 2);
    if (logarithmic) {
        state.farthest = std::max(state.farthest, state.span / 2 + 2);
        slider("farthest", "farthest M", state.farthest, state.span / 2 + 2, 128, 1);
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
    if (state.kind == 1) state.farthest = std::max(state.farthest, std::floor(state.span / 2) + 2);
    const auto farthest = static_cast<Index>(state.farthest);
    const std::string made = std::to_string(length) + " " + std::to_string(span) + " " + std::to_string(farthest) +
                             " " + std::to_string(state.kind) + (clamp == OffsetClamp::hf ? "h" : "o");
    state.cell = {std::min(state.cell.i, length - 1), std::min(state.cell.j, length - 1)};
    if (made != made_for_) {
        made_for_ = made;
        ++version_;
        line_ = state.kind == 1 ? RelativeBuckets::logarithmic(length, length, span, farthest, clamp)
                                : RelativeBuckets::clamped(length, length, span);
    }
    Matrix<float> offsets(length, length), rows(length, length);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) {
            offsets(i, j) = static_cast<float>(i - j);
            rows(i, j) = static_cast<float>(line_->row(i, j));
        }
    const PictureVersion version{version_, 0, scene.state.theme};
    offsets_.show(version, offsets, {}, MapKind::diverging);
    rows_.show(version, rows, {}, MapKind::diverging, ValueRange{0, static_cast<double>(2 * span)});
}

Part PositionsPage::part_of(const PositionsState& state, Index offset) const {
    const Index row = line_->row_of_offset(offset), size = std::abs(offset), span = line_->span();
    if (state.kind == 0) return row == offset + span ? Part::itself : Part::edge;
    if (size <= mid(state)) return Part::itself;
    return size >= static_cast<Index>(state.farthest) - 1 ? Part::edge : Part::logarithm;
}

void PositionsPage::draw(Scene& scene, const Rect& room) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const Rect inside = room.inset(ui.px(16), ui.px(12));
    const float numbers = ui.px(26), title = ui.px(22), legend = ui.px(22), head = ui.px(16);
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

}  // namespace locus

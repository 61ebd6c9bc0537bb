// The page: what is shown of an answer, layout, keys.
#include "viewer/pages/decoder/decoder.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/animation_controls.h"
#include "viewer/ui/microscope.h"

namespace locus {

namespace {

constexpr Index kStreamColumns = 32;
constexpr double kPartsPerSecond = 0.5;

/// Mean over heads, or one of them: [1,H,T,T] -> [T,T].
Matrix<float> shown_attention(const Tensor<float>& probs, Index head) {
    if (head >= 0) return probs.matrix(std::min(head, probs.extent(1) - 1));
    Matrix<float> mean = probs.matrix(0);
    for (Index h = 1; h < probs.extent(1); ++h) mean += probs.matrix(h);
    return mean / static_cast<float>(probs.extent(1));
}

PartStatistics statistics_of(const ConstView<float>& values) {
    PartStatistics part{0, 0, 0, 0, values.rows(), values.cols()};
    if (values.size() == 0) return part;
    const Matrix<double> exact = values.cast<double>();
    part.mean = exact.mean();
    part.deviation = std::sqrt((exact.array() - part.mean).square().mean());
    part.smallest = exact.minCoeff();
    part.largest = exact.maxCoeff();
    return part;
}

std::vector<double> distances(const ConstView<float>& from, const ConstView<float>& to) {
    std::vector<double> moved;
    for (Index t = 0; t < from.rows(); ++t)
        moved.push_back((to.row(t).cast<double>() - from.row(t).cast<double>()).norm());
    return moved;
}

}  // namespace

float DecoderPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    Index& head = scene.state.decoder_head;
    const Index heads = scene.session.config().num_attention_heads;
    const std::string shown = head < 0 ? "mean of heads" : "head " + std::to_string(head);
    const float x = ui.stepper("shown", bar.x1 - ui.px(16), bar.middle_y(), shown, head, -1, heads - 1) - ui.px(8);
    return x - ui.text(x, bar.middle_y(), "attention shown", ui.theme->muted, Face::ui, Align::right);
}

void DecoderPage::refresh(const Scene& scene) {
    const Answer& answer = *scene.answer;
    const Index head = scene.state.decoder_head;
    const PictureVersion stream{answer.serial, 0, scene.state.theme}, attention{answer.serial, head, scene.state.theme};
    const bool fresh = serial_ != answer.serial;
    serial_ = answer.serial;
    const auto rows = [&](const char* stage) { return answer.trace.at(stage).as<float>().rows(); };
    const auto show = [&](std::size_t n, const ConstView<float>& values) {
        streams_[n].show(stream, pool_columns(values, columns_in_one(values.cols(), kStreamColumns)), {},
                         MapKind::diverging);
        if (fresh) statistics_[n] = statistics_of(values);
    };
    show(0, answer.decoder.absolute);
    show(1, answer.decoder.hidden);
    show(2, rows("emd.0.output"));
    show(3, rows("emd.1.output"));
    if (answer.trace.find("mlm.transform")) show(4, rows("mlm.transform"));
    if (fresh) statistics_[5] = statistics_of(rows("emd.query.0"));
    float largest = 0;
    std::array<Matrix<float>, 2> shown;
    for (std::size_t pass = 0; pass < 2; ++pass) {
        const std::string stage = "emd." + std::to_string(pass) + ".probs";
        shown[pass] = shown_attention(answer.trace.at(stage).as<float>(), head);
        largest = std::max(largest, shown[pass].maxCoeff());
    }
    // One scale for both, so that the passes can be compared; a mean of heads never comes near 1.
    const ValueRange range{0, std::max(0.05, std::ceil(static_cast<double>(largest) * 20) / 20)};
    for (std::size_t pass = 0; pass < 2; ++pass)
        passes_[pass].show(attention, shown[pass], answer.visible, MapKind::sequential, range);
    moves_ = {distances(rows("emd.query.0"), rows("emd.0.output")),
              distances(rows("emd.0.output"), rows("emd.1.output"))};
}

void DecoderPage::draw(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Rect inside = area.inset(ui.px(16), ui.px(14));
    if (!scene.answer) return;
    if (!scene.answer->decoder.unavailable.empty()) {
        ui.text(inside.x0, inside.y0 + ui.px(8), "No decoder here", ui.theme->text, Face::title);
        ui.paragraph(inside.x0, inside.y0 + ui.px(28), std::min(inside.width(), ui.px(560)),
                     scene.answer->decoder.unavailable, ui.theme->muted);
        return;
    }
    refresh(scene);
    clock_.advance(scene.state.decoder.animation, ImGui::GetTime(), kLastPart, kPartsPerSecond,
                   scene.state.reduce_motion);
    scene.state.decoder_view.clamp(scene.answer->length());
    const float labels = widest_label(ui, *scene.answer, ui.px(96)) + ui.px(6);
    const float gap = ui.px(18), around = ui.px(36) + ui.px(20);  // titles above, legends below
    if (inside.height() > 1.3f * inside.width()) return draw_tall(scene, inside, labels);
    const float by_width = (inside.width() - 2 * labels - 2 * gap) * 0.375f;
    const float by_height = inside.height() - around - ui.px(210);
    const float side = std::floor(std::max(ui.px(60), std::min(by_height, by_width)));
    const float flow = std::min(inside.height() - around - side, inside.width() * 0.42f);
    draw_flow(scene, {inside.x0, inside.y0, inside.x1, inside.y0 + flow});
    const float top = inside.y0 + flow + ui.px(36);
    float x = inside.x0 + labels;
    for (int pass = 0; pass < 2; ++pass) {
        draw_pass(scene, {x, top, x + side, top + side}, pass, pass == 0);
        x += side + gap;
    }
    draw_moves(scene, {x, top, inside.x1, top + side}, {x + labels, top, inside.x1, top + side});
}

/// Flow, both passes and the moves one below the other, each as wide as the page.
void DecoderPage::draw_tall(Scene& scene, const Rect& inside, float labels) {
    const Ui& ui = scene.ui;
    const float gap = ui.px(18), title = ui.px(36), legend = ui.px(20);
    const float side = std::floor((inside.width() - labels - gap) / 2);
    const float rest = inside.height() - side - 2 * (title + legend), flow = std::floor(rest * 0.56f);
    draw_flow(scene, {inside.x0, inside.y0, inside.x1, inside.y0 + flow});
    const float x = inside.x0 + labels, top = inside.y0 + flow + title;
    draw_pass(scene, {x, top, x + side, top + side}, 0, true);
    draw_pass(scene, {x + side + gap, top, x + 2 * side + gap, top + side}, 1, false);
    const Rect rows{x, top + side + legend + title, inside.x1, inside.y1 - legend};
    draw_moves(scene, {x - ui.px(8), rows.y0, rows.x1, rows.y1}, rows);
}

void DecoderPage::draw_pass(Scene& scene, const Rect& cells, int pass, bool labels) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const Answer& answer = *scene.answer;
    const Heatmap& heatmap = passes_[static_cast<std::size_t>(pass)];
    const std::string number = std::to_string(pass);
    ui.text(cells.x0, cells.y0 - ui.px(14), "pass " + std::to_string(pass + 1) + " attention", ui.theme->text,
            Face::title);
    const std::vector<Span> note = {{"q", ui.theme->c2p, Face::mono_small},
                                    {number, ui.theme->c2p, Face::mono_tiny, -3},
                                    {" looks at ", ui.theme->muted, Face::mono_small},
                                    {"H", ui.theme->c2c, Face::mono_small}};
    ui.spans(cells.x1 - ui.spans_width(note), cells.y0 - ui.px(14), note);
    bool clicked = false;
    const auto cell = explore(ui, pass == 0 ? "pass 1" : "pass 2", cells, answer.length(), state.decoder_view, clicked);
    if (cell && (clicked || !state.locked)) state.cell = *cell;
    if (clicked) {
        state.locked = true;
        state.decoder.side = static_cast<std::size_t>(pass) + 1;
    }
    heatmap.draw(ui, cells, state.decoder_view);
    heatmap.draw_crosshair(ui, cells, state.decoder_view, state.cell);
    heatmap.draw_legend(ui, cells.x0, cells.y1 + ui.px(11));
    if (labels) draw_row_labels(ui, answer, cells, state.decoder_view, state.cell.i);
    if (!cell) return;
    const auto token = [&](Index t) { return answer.labels[static_cast<std::size_t>(t)]; };
    draw_tooltip(
        ui, {{{token(cell->i), ui.theme->text}, {" looks at ", ui.theme->muted}, {token(cell->j), ui.theme->text}},
             {{"i " + std::to_string(cell->i) + "  j " + std::to_string(cell->j) + "  " + direction(cell->i - cell->j),
               ui.theme->muted, Face::mono_small}},
             {{state.decoder_head < 0 ? "mean of heads  " : "probability  ", ui.theme->muted},
              {compact(heatmap.values()(cell->i, cell->j), 4), ui.theme->text, Face::mono}}});
}

void DecoderPage::draw_moves(Scene& scene, const Rect& area, const Rect& rows) const {
    const Ui& ui = scene.ui;
    const Answer& answer = *scene.answer;
    const float x0 = area.x0 + (rows.x0 - area.x0), numbers = ui.px(40);
    ui.text(area.x0 + ui.px(8), area.y0 - ui.px(14), "how far the query moved", ui.theme->text, Face::title);
    double largest = 1e-9;
    for (const auto& moves : moves_)
        for (const double move : moves) largest = std::max(largest, move);
    const float length = rows.x1 - numbers - x0;
    draw_row_labels(ui, answer, {x0, rows.y0, rows.x1, rows.y1}, scene.state.decoder_view, scene.state.cell.i);
    ui.draw().push_clip({area.x0, rows.y0}, {rows.x1 + 1, rows.y1});
    for (Index t = 0; t < answer.length(); ++t) {
        const Rect row = cell_rect({x0, rows.y0, rows.x1, rows.y1}, scene.state.decoder_view, answer.length(), {t, 0});
        if (row.y1 < rows.y0 || row.y0 > rows.y1) continue;
        const float thick = std::clamp(std::floor(row.height() * 0.3f), 1.0f, ui.px(6));
        for (std::size_t pass = 0; pass < 2; ++pass) {
            const auto share = static_cast<float>(moves_[pass][static_cast<std::size_t>(t)] / largest);
            const float y = std::floor(row.middle_y()) + (pass == 0 ? -thick : ui.px(0.6f));
            ui.fill({x0, y, x0 + share * length, y + thick}, faded(ui.theme->c2p, pass == 0 ? 1.0f : 0.45f));
        }
        if (row.height() >= ui.px(13))
            ui.text(rows.x1, row.middle_y(), fixed(moves_[0][static_cast<std::size_t>(t)], 1),
                    t == scene.state.cell.i ? ui.theme->text : ui.theme->muted, Face::mono_small, Align::right);
    }
    ui.draw().pop_clip();
    float x = x0;
    const auto name = [&](const char* text, float share) {
        ui.fill({x, rows.y1 + ui.px(9), x + ui.px(14), rows.y1 + ui.px(13)}, faded(ui.theme->c2p, share));
        x += ui.px(20);
        x += ui.text(x, rows.y1 + ui.px(11), text, ui.theme->muted, Face::label) + ui.px(14);
    };
    name("\u2016q\u2081 \u2212 q\u2080\u2016", 1);
    name("\u2016q\u2082 \u2212 q\u2081\u2016", 0.45f);
}

bool DecoderPage::press(Scene& scene, const KeyPress& press) {
    if (!scene.answer) return false;
    State& state = scene.state;
    if (press.character == 'i' || press.character == 'I') {
        state.strength = std::clamp(state.strength + (press.character == 'i' ? -0.1 : 0.1), 0.0, 1.0);
        return true;
    }
    if (press.character == 'e') {
        state.decoder.side = (state.decoder.side + 1) % 3;
        return true;
    }
    if (press.character == 'c' && state.decoder.side > 0 && scene.answer->decoder.unavailable.empty()) {
        ImGui::SetClipboardText(explanation(scene).c_str());
        state.notice = "copied: every number of this cell";
        return true;
    }
    if (press_animation(state.decoder.animation, kLastPart, press)) return true;
    return move_cell(state.cell, state.locked, state.decoder_view, scene.answer->length(), press);
}

std::vector<NamedMatrix> DecoderPage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    if (!scene.answer || !scene.answer->decoder.unavailable.empty()) return matrices;
    const Answer& answer = *scene.answer;
    const Index head = scene.state.decoder_head;
    for (const int pass : {0, 1}) {
        const std::string title = "pass " + std::to_string(pass + 1);
        const Stage& stage = answer.trace.at("emd." + std::to_string(pass) + ".probs");
        NamedMatrix matrix =
            head >= 0 ? named_slice(title, title + " attention", stage, 0, head)
                      : named_matrix(title, title + " attention", stage.name, shown_attention(stage.as<float>(), head));
        if (head < 0) matrix.part = "mean of heads";
        matrix.rows = matrix.cols = answer.labels;
        matrix.visible = answer.visible;
        matrix.map = MapKind::sequential;
        matrix.range = passes_[static_cast<std::size_t>(pass)].range();
        matrices.push_back(std::move(matrix));
    }
    for (const char* name : {"emd.query.0", "emd.0.output", "emd.1.output", "mlm.transform"}) {
        const Stage* stage = answer.trace.find(name);
        if (!stage) continue;
        matrices.push_back(named_slice(name, name, *stage));
        matrices.back().rows = answer.labels;
    }
    return matrices;
}

std::unique_ptr<Page> make_decoder_page() { return std::make_unique<DecoderPage>(); }

}  // namespace locus

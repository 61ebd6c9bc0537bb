// One cell of either stream, taken apart.
#include <algorithm>

#include "viewer/pages/permutation/permutation.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/lesson_links.h"

namespace locus {

namespace {

constexpr RelativeScheme kXlnet = RelativeScheme::xlnet;

}  // namespace

const RelativeCellExplanation<float>* PermutationPage::explain(const PermutationState& state) {
    if (!runs_model(state)) return nullptr;
    const RelativeHeadTensors<float>& tensors = tensors_[state.stream];
    const Index row = answer().row_of(stream_of(state), state.cell.i);
    if (row < 0 || row >= tensors.q.rows() || state.cell.j >= tensors.k.rows()) return nullptr;
    if (!cell_ || cell_stream_ != state.stream || cell_->i != row || cell_->j != state.cell.j) {
        cell_ = explain_relative_cell<float>(tensors, row, state.cell.j);
        cell_stream_ = state.stream;
    }
    return &*cell_;
}

std::string PermutationPage::hidden_because(const PermutationState& state) const {
    const HiddenBy hidden = hidden_by(answer().length(), answer().hiding, stream_of(state), state.cell.i, state.cell.j);
    const std::vector<Index> given = given_of(answer().request.cards);
    const bool from_given = std::find(given.begin(), given.end(), state.cell.i) != given.end();
    if (hidden == HiddenBy::permutation && from_given) return "it is to be predicted, and given words see no such word";
    return reason_of(hidden);
}

CellNames PermutationPage::cell_names(const PermutationState& state) const {
    return {sentence().name(),
            "layer " + std::to_string(state.layer) + ", head " + std::to_string(state.head) +
                (state.stream == 0 ? ", content stream h" : ", query stream g"),
            word(state, state.cell.i), word(state, state.cell.j), hidden_because(state)};
}

std::string PermutationPage::copied_text(const PermutationState& state) {
    const RelativeCellExplanation<float>* cell = explain(state);
    if (!cell) return "";
    const Index length = answer().length(), rows = tensors_[state.stream].r_k.rows();
    return cell_text(*cell, kXlnet, cell_names(state),
                     shift_source_xlnet(length, rows, length, cell->position, cell->j));
}

void PermutationPage::draw_cell(Scene& scene, SideColumn& column, const Rect& room) {
    const Ui& ui = scene.ui;
    PermutationState& state = scene.state.permutation;
    const CellNames names = cell_names(state);
    const std::string stream = state.stream == 0 ? "content stream h" : "query stream g";
    const RelativeCellExplanation<float>* cell = explain(state);
    if (!cell) {
        column.heading("No query stream", "");
        column.sentence("\u201c" + names.query +
                        "\u201d is given, not predicted, so it has no query stream. Click its card, "
                        "or a cell of the content stream.");
        return;
    }
    const std::string pair = "\u201c" + names.query + "\u201d looks at \u201c" + names.key + "\u201d";
    if (state.side == 2) {
        column.heading("Channel by channel", stream);
        column.sentence(pair + ".", false);
        return draw_channel_table(ui, column, room, *cell, kXlnet, column_of(state));
    }
    column.heading("Why is this cell " + fixed(static_cast<double>(cell->softmax.probability), 3) + "?",
                   state.stream == 0 ? "stream h" : "stream g");
    column.sentence(pair + ", " + direction(cell->distance) + ".");
    draw_named_terms(ui, column, *cell, kXlnet, column_of(state), "permutation");
    const float x = column.left();
    if (ui.button("segment term", {x, column.y() - ui.px(11), x + ui.px(150), column.y() + ui.px(11)},
                  state.segments ? "without segments" : "with segments"))
        state.segments = !state.segments;
    ui.text(x + ui.px(160), column.y(), "g", ui.theme->muted, Face::mono_small);
    column.skip(30);
    draw_score_steps(column, *cell, names.hidden);
    column.rule();
    draw_cell_row(scene, column, *cell);
    column.rule();
    draw_copy_button(scene, column, copied_text(state));
    draw_lesson_links(scene, column, room, {{"22", "Permutation language model"}, {"23", "Two streams"}});
}

void PermutationPage::draw_cell_row(const Scene& scene, SideColumn& column,
                                    const RelativeCellExplanation<float>& cell) const {
    const PermutationState& state = scene.state.permutation;
    const Index length = answer().length(), rows = tensors_[state.stream].r_k.rows();
    column.heading("Which row of R?", std::to_string(rows) + " rows, both ways");
    column.row(std::to_string(cell.position) + " \u2212 " + std::to_string(cell.j) + " = distance",
               whole(cell.distance));
    if (cell.row < 0) {
        column.sentence("No row stands for this distance: the model reads from left to right.");
    } else {
        const ShiftSource from = shift_source_xlnet(length, rows, length, cell.position, cell.j);
        column.row(std::to_string(length) + " \u2212 (" + whole(cell.distance) + ") = row", std::to_string(cell.row));
        column.row("before the shift at", "(" + std::to_string(from.row) + ", " + std::to_string(from.column) + ")");
    }
    if (cell.ef.active) column.row("segment table", cell.other_segment ? "row 1: another" : "row 0: the same");
}

}  // namespace locus

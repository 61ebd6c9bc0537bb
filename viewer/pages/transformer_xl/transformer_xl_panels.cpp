// The tape of memory and segment with what one query looks at.
#include <algorithm>
#include <cmath>

#include "viewer/pages/transformer_xl/transformer_xl.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"

namespace locus {

SegmentTape TransformerXlPage::tape_of(const Rect& area) const {
    return {area.x0, area.x1, answer().longest, answer().memory, answer().length};
}

void TransformerXlPage::draw_tape(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const SegmentTape tape = tape_of(area);
    const Rect words{area.x0, area.y1 - ui.px(66), area.x1, area.y1};
    const float edge = tape.edge(tape.longest - tape.memory), seam = tape.edge(tape.longest);
    const bool reads_on = tape.longest > 0, legible = tape.pitch() >= ui.px(9);
    ui.text(area.x0, area.y0 + ui.px(4),
            reads_on                ? "read before, only its memory is left"
            : answer().segment == 0 ? "the first segment: nothing was read before"
                                    : "this model keeps no memory of what was read before: its mem_len is 0",
            ui.theme->muted, Face::label);
    ui.text(area.x1, area.y0 + ui.px(4), "segment that is read now", ui.theme->text, Face::title, Align::right);

    const Touch mouse = ui.touch("tape", words);
    if (mouse.clicked) {
        const Index on_tape = tape.word_at(mouse.at.x);
        if (on_tape >= tape.longest && !ImGui::GetIO().KeyShift)
            state.cell.i = on_tape - tape.longest;
        else if (tape.key_of(on_tape) >= 0)
            state.cell.j = on_tape;
        state.locked = true;
    }
    ui.fill({edge, words.y0, seam - ui.px(1), words.y1}, ui.theme->chip, 4);
    ui.fill({seam + ui.px(1), words.y0, area.x1, words.y1}, faded(ui.theme->accent, 0.13f), 4);
    for (Index n = 0; n < tape.words(); ++n)
        draw_tape_word(scene, tape, {tape.edge(n), area.y0 + ui.px(16), tape.edge(n + 1), words.y1}, n);
    if (!legible)
        ui.text_within(area.x0 + ui.px(8), words.middle_y(), words.width() - ui.px(16),
                       "\u201c" + query_word(state) + "\u201d looks at \u201c" + word(state.cell.j) + "\u201d; " +
                           std::to_string(tape.words()) + " words are too many to write here",
                       ui.theme->text);
    if (!reads_on) return;
    // The left end of the memory is a handle.
    const Touch handle = ui.touch("handle", {edge - ui.px(7), area.y0 + ui.px(12), edge + ui.px(7), words.y0});
    if (handle.held) state.memory = tape.memory_at(handle.at.x);
    ui.fill({edge - ui.px(1), area.y0 + ui.px(16), edge + ui.px(1), words.y1},
            handle.hovered || handle.held ? ui.theme->text : ui.theme->muted);
    ui.draw().disc({edge, area.y0 + ui.px(16)}, ui.px(4), handle.hovered ? ui.theme->text : ui.theme->muted);
}

void TransformerXlPage::draw_tape_word(const Scene& scene, const SegmentTape& tape, const Rect& column, Index n) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const MemoryState& state = scene.state.memory;
    const float top = column.y1 - ui.px(66);
    const Index key = tape.key_of(n);
    const bool query = n - tape.longest == state.cell.i, chosen = n == state.cell.j && key >= 0;
    const float side = tape.pitch() >= ui.px(4) ? ui.px(1) : 0;
    const Rect box{column.x0 + side, top, column.x1 - side, column.y1};
    if (query || chosen) ui.outline(box, query ? theme.accent : theme.c2p, 2, 3);
    const ImU32 ink = key < 0 ? faded(theme.muted, 0.45f) : query || chosen ? theme.text : faded(theme.text, 0.8f);
    if (tape.pitch() >= ui.px(9))
        ui.text_upwards(column.middle_x(), column.y1 - ui.px(5), cut_token(ui, word(n), ui.px(58), Face::label), ink,
                        Face::label);
    const Heatmap& probabilities = panels_[5];
    if (key < 0 || n - tape.longest > state.cell.i || probabilities.empty()) return;
    if (key >= probabilities.values().cols() || state.cell.i >= probabilities.values().rows()) return;
    const float probability = probabilities.values()(state.cell.i, key), area = top - column.y0 - ui.px(14);
    const float high = std::floor(area * probability);
    if (!(high >= 1)) return;
    ui.fill({column.x0 + 2 * side, top - ui.px(2) - high, column.x1 - 2 * side, top - ui.px(2)},
            chosen ? theme.c2p : theme.accent);
    // A number on every peak; beside a higher one it would not fit.
    const auto beside = [&](Index other) {
        return other >= 0 && other < probabilities.values().cols() ? probabilities.values()(state.cell.i, other) : 0.0f;
    };
    if (probability >= 0.095f && probability >= beside(key - 1) && probability >= beside(key + 1))
        ui.text(column.middle_x(), top - ui.px(9) - high,
                probability >= 0.995f ? "1" : fixed(static_cast<double>(probability), 2).substr(1), theme.text,
                Face::mono_tiny, Align::centre);
}

// The four terms of one head, their sum and the probabilities as matrices.

namespace {

struct Panel {
    const char* title;
    const char* note;
};

constexpr std::array<Panel, 6> kPanels = {{{"a  content \u2192 content", "q\u00b7k"},
                                           {"b  content \u2192 distance", "q\u00b7r"},
                                           {"scores", "sum / \u221ad"},
                                           {"c  which key, for all queries", "u\u00b7k"},
                                           {"d  which distance, for all", "v\u00b7r"},
                                           {"probabilities", "softmax over j"}}};
// Which panels are a, b, c, d.
constexpr std::array<std::size_t, 4> kTerms = {0, 1, 3, 4};

}  // namespace

void TransformerXlPage::show_panels(const Scene& scene) {
    const MemoryState& state = scene.state.memory;
    const PictureVersion wanted{answers_.serial(), state.layer * sentence().sizes().heads + state.head,
                                scene.state.theme};
    if (shown_ == wanted) return;
    const Matrix<float> scores = answer().stage(state.layer, "scores", state.head);
    if (scores.size() == 0) return;  // this layer's numbers are on their way
    shown_ = wanted;
    cell_.reset();
    tensors_ = answer().head(state.layer, state.head);
    const Matrix<float> probabilities = answer().stage(state.layer, "probs", state.head);
    const RelativeTerms<float> terms =
        relative_terms<float>(tensors_.q, tensors_.k, tensors_.r_k, tensors_.u, tensors_.v, tensors_.first);
    const std::array<const Matrix<float>*, 6> shown = {&terms.a, &terms.b, &scores, &terms.c, &terms.d, &probabilities};
    for (std::size_t n = 0; n < shown.size(); ++n)
        panels_[n].show(*shown_, *shown[n], tensors_.mask, n == 5 ? MapKind::sequential : MapKind::diverging,
                        n == 5 ? std::optional(probability_range(probabilities)) : std::nullopt);
}

void TransformerXlPage::draw_panel(Scene& scene, const Rect& cells, std::size_t n, bool first) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const Heatmap& panel = panels_[n];
    if (panel.empty()) return;
    const Index rows = panel.values().rows(), keys = panel.values().cols();
    const auto term = std::find(kTerms.begin(), kTerms.end(), n);
    const ImU32 colour = term == kTerms.end() ? ui.theme->text
                                              : named_term_colour(*ui.theme, RelativeScheme::transformer_xl,
                                                                  static_cast<std::size_t>(term - kTerms.begin()));
    const float note = ui.text_width(kPanels[n].note, Face::mono_small) + ui.px(8);
    ui.text_within(cells.x0, cells.y0 - ui.px(13), cells.width() - note, kPanels[n].title, colour, Face::title);
    ui.text(cells.x1, cells.y0 - ui.px(13), kPanels[n].note, ui.theme->muted, Face::mono_small, Align::right);
    panel.draw(ui, cells);
    // Left of the line: remembered; right of it: the segment itself.
    const Index memory = keys - rows;
    if (memory > 0) {
        const float x = whole_cell_rect(cells, rows, keys, {0, memory}).x0;
        ui.fill({x - ui.px(1), cells.y0, x, cells.y1}, faded(ui.theme->text, 0.6f));
    }
    const Index key = chosen_key(state);
    if (key >= 0 && key < keys && state.cell.i < rows) panel.draw_crosshair(ui, cells, {}, {state.cell.i, key});
    panel.draw_legend(ui, cells.x0, cells.y1 + ui.px(10));
    const bool parts = memory > 0 && (n == 5 || cells.width() >= ui.px(300));
    const std::string keys_title = !parts                        ? "keys j"
                                   : cells.width() >= ui.px(300) ? "keys j: memory | now"
                                                                 : "memory | now";
    ui.text(cells.x1, cells.y1 + ui.px(10), keys_title, ui.theme->muted, Face::label, Align::right);
    if (first) {
        draw_row_title(ui, cells, cells.x0 - ui.px(54), "queries i");
        const Rect row = whole_cell_rect(cells, rows, keys, {std::min(state.cell.i, rows - 1), 0});
        ui.text(cells.x0 - ui.px(6), row.middle_y(), cut_token(ui, query_word(state), ui.px(42), Face::label),
                ui.theme->text, Face::label, Align::right);
    }
    const Touch mouse = ui.touch(kPanels[n].title, cells);
    if (!mouse.hovered) return;
    const auto at = [](float share, Index count) {
        return std::clamp<Index>(static_cast<Index>(share * static_cast<float>(count)), 0, count - 1);
    };
    const Cell under{at((mouse.at.y - cells.y0) / cells.height(), rows),
                     at((mouse.at.x - cells.x0) / cells.width(), keys)};
    const Cell on_tape{under.i, under.j + answer().longest - answer().memory};
    if (mouse.clicked) {
        state.locked = !(state.locked && state.cell == on_tape);
        if (state.side == 0) state.side = 1;
    }
    if (mouse.clicked || !state.locked) state.cell = on_tape;
    fit(state);
    describe(scene, n, under, on_tape.j);
}

void TransformerXlPage::describe(Scene& scene, std::size_t n, Cell under, Index on_tape) {
    const Ui& ui = scene.ui;
    const Heatmap& panel = panels_[n];
    const std::string number = panel.hidden(under.i, under.j)
                                   ? "hidden by the mask"
                                   : compact(static_cast<double>(panel.values()(under.i, under.j)), 4);
    const Index memory = panel.values().cols() - panel.values().rows(), distance = memory + under.i - under.j;
    draw_tooltip(
        ui, {{{word(answer().longest + under.i), ui.theme->text},
              {panel.hidden(under.i, under.j) ? " does not see " : " looks at ", ui.theme->muted},
              {word(std::min(on_tape, answer().longest + answer().length - 1)), ui.theme->text}},
             {{direction(distance) + (under.j < memory ? ", in the memory" : ""), ui.theme->muted, Face::mono_small}},
             {{std::string(kPanels[n].title) + "  ", ui.theme->muted}, {number, ui.theme->text, Face::mono}},
             {{"click takes it apart", ui.theme->muted, Face::label}}});
}

std::vector<NamedMatrix> TransformerXlPage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    if (!ready() || panels_[0].empty()) return matrices;
    const MemoryState& state = scene.state.memory;
    const std::string layer = "layer." + std::to_string(state.layer) + ".";
    constexpr std::array<const char*, 6> kIds = {"a", "b", "scores", "c", "d", "probs"};
    for (std::size_t n = 0; n < kIds.size(); ++n) {
        const Stage* stage = answer().trace.find(layer + kIds[n]);
        NamedMatrix matrix = stage ? named_slice(kIds[n], kPanels[n].title, *stage, 0, state.head)
                                   : named_matrix(kIds[n], kPanels[n].title, layer + "term." + kIds[n],
                                                  panels_[n].values(), Scheme::transformer_xl);
        if (!stage) matrix.part = "head " + std::to_string(state.head);
        matrix.visible = tensors_.mask;
        for (Index i = 0; i < matrix.height(); ++i) matrix.rows.push_back(word(answer().longest + i));
        for (Index j = 0; j < matrix.width(); ++j) matrix.cols.push_back(word(answer().longest - answer().memory + j));
        matrix.map = panels_[n].map();
        matrix.range = panels_[n].range();
        matrices.push_back(std::move(matrix));
    }
    return matrices;
}

}  // namespace locus

#include "viewer/plots/matrix_labels.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/heatmap.h"

namespace locus {

namespace {

constexpr float kLongestName = 96;  // design pixels

struct Range {
    Index first, last;
};

Range shown(double first, double side, Index length) {
    return {static_cast<Index>(first), std::min(length - 1, static_cast<Index>(std::ceil(first + side)) - 1)};
}

ImU32 ink(const Ui& ui, Index at, Index chosen, const std::vector<Index>& selected) {
    if (std::binary_search(selected.begin(), selected.end(), at)) return ui.theme->accent;
    return at == chosen ? ui.theme->text : ui.theme->muted;
}

}  // namespace

std::string cut_token(const Ui& ui, const std::string& token, float width, Face face) {
    if (ui.text_width(token, face) > width)
        for (const std::string_view unknown : {" <unk>", " [UNK]"})
            if (token.ends_with(unknown)) return ui.cut(token.substr(0, token.size() - unknown.size()), width, face);
    return ui.cut(token, width, face);
}

float widest_label(const Ui& ui, const Answer& answer, float limit) {
    float widest = ui.px(24);
    for (const std::string& label : answer.labels) widest = std::max(widest, ui.text_width(label, Face::label));
    return std::min(widest, limit);
}

Index label_step(const Ui& ui, Face face, float pitch, Index length) {
    // From the top of a tall letter to the end of one that hangs down: these must not touch.
    const float needed = 0.82f * ui.fonts->size(face);
    return pitch >= needed ? 1 : 2 * pitch >= needed ? 2 : length;
}

void draw_row_labels(const Ui& ui, const Answer& answer, const Rect& cells, const MatrixView& view, Index chosen,
                     const std::vector<Index>& selected) {
    const Index length = answer.length();
    const float pitch = cells.height() / static_cast<float>(view.shown(length));
    const Index step = label_step(ui, Face::label, pitch, length);
    const Range range = shown(view.first_i, view.shown(length), length);
    for (Index i = range.first; i <= range.last; ++i) {
        const Rect row = cell_rect(cells, view, length, {i, 0});
        if (i != chosen && (i % step != 0 || std::abs(i - chosen) < step)) continue;
        if (row.middle_y() < cells.y0 || row.middle_y() > cells.y1) continue;
        ui.text(cells.x0 - ui.px(6), row.middle_y(),
                cut_token(ui, answer.labels[static_cast<std::size_t>(i)], ui.px(kLongestName), Face::label),
                ink(ui, i, chosen, selected), Face::label, Align::right);
    }
}

void draw_row_title(const Ui& ui, const Rect& cells, float x, const std::string& words) {
    const float wide = ui.text_width(words, Face::label);
    if (wide < cells.height())
        ui.text_upwards(x, std::floor(cells.middle_y() + wide / 2), words, ui.theme->muted, Face::label);
}

void draw_column_labels(const Ui& ui, const Answer& answer, const Rect& cells, const MatrixView& view, Index chosen,
                        const std::vector<Index>& selected) {
    const Index length = answer.length();
    const Range range = shown(view.first_j, view.shown(length), length);
    const bool all = cells.width() / static_cast<float>(view.shown(length)) >= ui.px(14);
    for (Index j = range.first; j <= range.last; ++j) {
        if (!all && j != chosen) continue;
        const Rect column = cell_rect(cells, view, length, {0, j});
        if (column.middle_x() < cells.x0 || column.middle_x() > cells.x1) continue;
        ui.text_upwards(column.middle_x(), cells.y0 - ui.px(5),
                        cut_token(ui, answer.labels[static_cast<std::size_t>(j)], ui.px(kLongestName), Face::label),
                        ink(ui, j, chosen, selected), Face::label);
    }
}

}  // namespace locus

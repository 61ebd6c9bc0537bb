#include "viewer/pages/matrices.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"
#include "viewer/widgets.h"

namespace locus::view {

HeatmapData as_heatmap(const Matrix<float>& values, MapKind kind, double range, std::uint64_t version) {
    HeatmapData data;
    data.grid = {static_cast<int>(values.rows()),
                 static_cast<int>(values.cols()),
                 {values.data(), values.data() + values.size()}};
    data.kind = kind;
    data.version = version;
    data.range = range;
    if (range <= 0)
        for (const float value : data.grid.values)
            if (std::isfinite(value)) data.range = std::max<double>(data.range, std::abs(value));
    return data;
}

float label_width(const std::vector<std::string>& labels) {
    float widest = px(20);
    for (const std::string& label : labels) widest = std::max(widest, text_width(label, fonts().regular) * 0.9F);
    return std::min(widest, px(90)) + px(10);
}

void draw_row_labels(ImVec2 corner, float width, float size, const std::vector<std::string>& labels, const Grid& grid,
                     const HeatmapView& view, int selected, const Palette& colours) {
    const float cell = cell_side(size, grid, view);
    const ImFont* font = fonts().regular;
    const float height = font->FontSize * 0.9F;
    // Where rows are thinner than a line of text, every n-th row keeps its label.
    const int stride = std::max(1, static_cast<int>(std::ceil(height * 0.86F / cell)));
    for (int i = 0; i < grid.rows; i += stride) {
        const float y = corner.y + static_cast<float>(i - view.first_row) * cell;
        if (y < corner.y - 1 || y + std::max(cell, height) > corner.y + size + px(6)) continue;
        const std::string text = fitted(labels[static_cast<std::size_t>(i)], (width - px(8)) / 0.9F, fonts().regular);
        const float wide = font->CalcTextSizeA(height, 1e9F, 0, text.c_str()).x;
        ImGui::GetWindowDrawList()->AddText(
            font, height, {std::floor(corner.x + width - px(6) - wide), std::floor(y + (cell - height) / 2 - px(1))},
            i == selected ? colours.text : colours.muted, text.c_str());
    }
}

void draw_matrix_title(ImVec2 corner, float width, const std::string& title, ImU32 colour, const std::string& note,
                       const Palette& colours) {
    draw_text(corner, title, colour, fonts().semibold);
    if (text_width(title, fonts().semibold) + text_width(note, fonts().small) + px(10) <= width)
        draw_text_right(corner.x + width, corner.y + px(1), note, colours.muted, fonts().small);
}

void cell_tooltip(const std::vector<std::string>& labels, Cell cell, const std::string& name, double value) {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(10), px(8)});
    ImGui::BeginTooltip();
    ImGui::PushFont(fonts().mono);
    ImGui::Text("%s  %s", name.c_str(), fixed(value, 6).c_str());
    ImGui::PopFont();
    ImGui::Text("%s (%d) looks at %s (%d)", labels[static_cast<std::size_t>(cell.i)].c_str(), cell.i,
                labels[static_cast<std::size_t>(cell.j)].c_str(), cell.j);
    ImGui::EndTooltip();
    ImGui::PopStyleVar();
}

}  // namespace locus::view

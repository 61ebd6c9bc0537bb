#include "viewer/plots/heatmap.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"

namespace locus::view {

namespace {

constexpr float kSmallestForValues = 28;  // units of a cell that holds its number
constexpr int kMostHatched = 4096;        // visible cells up to which hatching is drawn cell by cell

double visible_cells(const Grid& grid, const HeatmapView& view) {
    const double all = std::max(grid.rows, grid.cols);
    return view.span > 0 ? std::min(view.span, all) : all;
}

/// Screen and matrix coordinates of one matrix.
struct Frame {
    ImVec2 corner;
    float size, cell;
    double first_row, first_col;
    int rows, cols;

    ImVec2 at(double i, double j) const {
        return {corner.x + static_cast<float>((j - first_col) * cell),
                corner.y + static_cast<float>((i - first_row) * cell)};
    }
    Cell cell_at(ImVec2 point) const {
        const int i = static_cast<int>(std::floor((point.y - corner.y) / cell + first_row));
        const int j = static_cast<int>(std::floor((point.x - corner.x) / cell + first_col));
        return i >= 0 && i < rows && j >= 0 && j < cols ? Cell{i, j} : Cell{};
    }
};

Frame make_frame(ImVec2 corner, float size, const Grid& grid, const HeatmapView& view) {
    return {corner, size, cell_side(size, grid, view), view.first_row, view.first_col, grid.rows, grid.cols};
}

void navigate(const Frame& frame, const Grid& grid, HeatmapView& view) {
    const ImGuiIO& io = ImGui::GetIO();
    const double all = std::max(grid.rows, grid.cols);
    double span = visible_cells(grid, view);
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
        view = {};
        return;
    }
    if (io.MouseWheel != 0) {
        const double row = (io.MousePos.y - frame.corner.y) / frame.cell + view.first_row;
        const double col = (io.MousePos.x - frame.corner.x) / frame.cell + view.first_col;
        const double next = std::clamp(span * std::pow(0.8, io.MouseWheel), std::min(4.0, all), all);
        view.first_row = row - (row - view.first_row) * next / span;
        view.first_col = col - (col - view.first_col) * next / span;
        view.span = span = next;
    }
    if (ImGui::IsMouseDragging(ImGuiMouseButton_Right, 0)) {
        view.first_row -= io.MouseDelta.y / frame.cell;
        view.first_col -= io.MouseDelta.x / frame.cell;
    }
    view.first_row = std::clamp(view.first_row, 0.0, std::max(0.0, grid.rows - span));
    view.first_col = std::clamp(view.first_col, 0.0, std::max(0.0, grid.cols - span));
}

void draw_texture(ImDrawList& draw, const Frame& frame, const HeatmapData& data, ImTextureID texture) {
    const double rows = data.grid.rows, cols = data.grid.cols;
    const double last_row = std::min(rows, frame.first_row + frame.size / frame.cell);
    const double last_col = std::min(cols, frame.first_col + frame.size / frame.cell);
    const auto uv = [&](double i, double j) {
        return ImVec2(static_cast<float>(j / cols), static_cast<float>(i / rows));
    };
    draw.AddImage(texture, frame.at(frame.first_row, frame.first_col), frame.at(last_row, last_col),
                  uv(frame.first_row, frame.first_col), uv(last_row, last_col));
}

/// Calls visit(i, j) for the cells on screen, if they are few enough to be drawn one by one.
template <class Visit>
void for_visible_cells(const Frame& frame, Visit visit) {
    const int i0 = std::max(0, static_cast<int>(frame.first_row)), j0 = std::max(0, static_cast<int>(frame.first_col));
    const int count = static_cast<int>(std::ceil(frame.size / frame.cell)) + 1;
    if (count * count > kMostHatched) return;
    for (int i = i0; i < std::min(frame.rows, i0 + count); ++i)
        for (int j = j0; j < std::min(frame.cols, j0 + count); ++j) visit(i, j);
}

void draw_hatching(ImDrawList& draw, const Frame& frame, const HeatmapData& data, const Palette& colours) {
    if (data.hidden.empty()) return;
    for_visible_cells(frame, [&](int i, int j) {
        if (!data.hidden[static_cast<std::size_t>(i) * static_cast<std::size_t>(data.grid.cols) +
                         static_cast<std::size_t>(j)])
            return;
        const ImVec2 a = frame.at(i, j), b = frame.at(i + 1, j + 1);
        draw.PushClipRect(a, b, true);
        for (float x = a.x - frame.cell; x < b.x; x += px(5))
            draw.AddLine({x, b.y}, {x + frame.cell, a.y}, with_alpha(colours.muted, 0.55F));
        draw.PopClipRect();
    });
}

/// Black or white, whichever reads better on a cell.
ImU32 ink_on(const Rgba& cell) {
    return 0.299 * cell.r + 0.587 * cell.g + 0.114 * cell.b > 140 ? IM_COL32(20, 24, 34, 235)
                                                                  : IM_COL32(240, 243, 250, 235);
}

void draw_values(ImDrawList& draw, const Frame& frame, const HeatmapData& data, const HeatmapStyle& style) {
    if (frame.cell < px(kSmallestForValues)) return;
    const ImFont* font = fonts().small;
    for_visible_cells(frame, [&](int i, int j) {
        const double value = data.grid.values[static_cast<std::size_t>(i) * static_cast<std::size_t>(data.grid.cols) +
                                              static_cast<std::size_t>(j)];
        const std::string text = fixed(value, style.value_decimals);
        const ImVec2 extent = font->CalcTextSizeA(font->FontSize, 1e9F, 0, text.c_str());
        if (extent.x > frame.cell - px(2)) return;
        const ImVec2 a = frame.at(i, j);
        draw.AddText(font, font->FontSize,
                     {std::floor(a.x + (frame.cell - extent.x) / 2), std::floor(a.y + (frame.cell - extent.y) / 2)},
                     ink_on(map_colour(value, data.range, data.kind, style.colours->dark)), text.c_str());
    });
}

void draw_crosshair(ImDrawList& draw, const Frame& frame, Cell cell, ImU32 colour, bool outline) {
    if (!cell.exists() || cell.i >= frame.rows || cell.j >= frame.cols) return;
    const ImVec2 a = frame.at(cell.i, cell.j), b = frame.at(cell.i + 1, cell.j + 1);
    const float right = std::min(frame.corner.x + frame.size, frame.at(0, frame.cols).x);
    const float bottom = std::min(frame.corner.y + frame.size, frame.at(frame.rows, 0).y);
    draw.AddRect({frame.corner.x, a.y}, {right, b.y}, with_alpha(colour, 0.35F), 0, 0, 1);
    draw.AddRect({a.x, frame.corner.y}, {b.x, bottom}, with_alpha(colour, 0.35F), 0, 0, 1);
    if (outline) draw.AddRect(a, b, colour, 0, 0, std::max(1.5F, px(2)));
}

}  // namespace

float cell_side(float size, const Grid& grid, const HeatmapView& view) {
    return size / static_cast<float>(std::max(1.0, visible_cells(grid, view)));
}

ImTextureID HeatmapTextures::get(const std::string& name, const HeatmapData& data, int level, bool dark) {
    Pyramid& pyramid = pyramids_[name];
    if (pyramid.version != data.version || pyramid.dark != dark || pyramid.grids.empty()) {
        pyramid.version = data.version;
        pyramid.dark = dark;
        pyramid.grids.clear();
        pyramid.textures.clear();
        pyramid.grids.push_back(data.grid);
    }
    while (static_cast<int>(pyramid.grids.size()) <= level) pyramid.grids.push_back(halve(pyramid.grids.back()));
    pyramid.textures.resize(std::max(pyramid.textures.size(), pyramid.grids.size()));
    Texture& texture = pyramid.textures[static_cast<std::size_t>(level)];
    if (!texture) {
        const Grid& grid = pyramid.grids[static_cast<std::size_t>(level)];
        std::vector<Rgba> pixels;
        pixels.reserve(grid.values.size());
        for (const float value : grid.values) pixels.push_back(map_colour(value, data.range, data.kind, dark));
        texture = Texture(grid.cols, grid.rows, pixels);
    }
    return texture.id();
}

HeatmapEvents draw_heatmap(const std::string& name, ImVec2 corner, float size, const HeatmapData& data,
                           HeatmapTextures& textures, HeatmapView& view, const HeatmapStyle& style) {
    HeatmapEvents events;
    if (data.grid.rows == 0 || data.grid.cols == 0 || size < 8) return events;
    corner = {std::floor(corner.x), std::floor(corner.y)};
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    ImGui::SetCursorScreenPos(corner);
    ImGui::InvisibleButton(name.c_str(), {size, size},
                           ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
    if (ImGui::IsItemHovered()) {
        navigate(make_frame(corner, size, data.grid, view), data.grid, view);
        events.hovered = make_frame(corner, size, data.grid, view).cell_at(ImGui::GetIO().MousePos);
        if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) events.clicked = events.hovered;
    }
    const Frame frame = make_frame(corner, size, data.grid, view);
    draw.PushClipRect(corner, {corner.x + size, corner.y + size}, true);
    draw_texture(draw, frame, data, textures.get(name, data, level_for(1 / frame.cell), style.colours->dark));
    draw_hatching(draw, frame, data, *style.colours);
    draw_values(draw, frame, data, style);
    if (!(style.pointed == style.selected))
        draw_crosshair(draw, frame, style.pointed, with_alpha(style.colours->text, 0.5F), false);
    draw_crosshair(draw, frame, style.selected, style.colours->text, true);
    draw.PopClipRect();
    draw.AddRect(corner, {corner.x + size, corner.y + size}, style.colours->line);
    return events;
}

void draw_legend(ImVec2 corner, double range, MapKind kind, const Palette& colours) {
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    const float width = px(90), height = px(6);
    constexpr int kSteps = 45;
    for (int n = 0; n < kSteps; ++n) {
        const double place = (n + 0.5) / kSteps;
        const Rgba c = map_colour(kind == MapKind::diverging ? 2 * place - 1 : place, 1, kind, colours.dark);
        draw.AddRectFilled({corner.x + width * static_cast<float>(n) / kSteps, corner.y},
                           {corner.x + width * static_cast<float>(n + 1) / kSteps, corner.y + height},
                           IM_COL32(c.r, c.g, c.b, 255));
    }
    const std::string text = kind == MapKind::diverging ? "\u00b1" + brief(range) : "0 \u2026 " + brief(range);
    draw.AddText(fonts().small, fonts().small->FontSize, {corner.x + width + px(6), corner.y - px(4)}, colours.muted,
                 text.c_str());
}

}  // namespace locus::view

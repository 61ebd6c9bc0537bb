#include "viewer/plots/heatmap.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"

namespace locus {

namespace {

constexpr Index kTile = 512;             // cells along a side
constexpr std::size_t kMostTiles = 128;  // 1 MiB each

/// Tiles 0 ... count - 1 along one side, and the stretch of them that is on screen.
struct Along {
    Index first = 0, last = -1;
    double cell = 1;  // window units per block
    double origin = 0;

    float at(Index block) const { return static_cast<float>(origin + static_cast<double>(block) * cell); }
};

/// `from` and `side` as shares of all cells; `begin` and `extent` on screen.
Along along(double from, double side, float begin, float extent, Index blocks) {
    Along result;
    result.cell = static_cast<double>(extent) / (side * static_cast<double>(blocks));
    result.origin = static_cast<double>(begin) - from * static_cast<double>(blocks) * result.cell;
    const auto block = [&](double share) {
        return std::clamp<Index>(static_cast<Index>(share * static_cast<double>(blocks)), 0, blocks - 1);
    };
    result.first = block(from) / kTile;
    result.last = block(from + side) / kTile;
    return result;
}

}  // namespace

void HeatmapTiles::show(Pyramid pyramid, const Painting& painting) {
    pyramid_ = std::move(pyramid);
    painting_ = painting;
    for (auto& [key, tile] : tiles_) tile.painted = false;
}

void HeatmapTiles::pool_by(Pooling pooling) {
    if (pyramid_.pooling() == pooling) return;
    pyramid_.pool_by(pooling);
    for (auto& [key, tile] : tiles_) tile.painted = tile.painted && std::get<0>(key) == Detail{};
}

void HeatmapTiles::draw(const Ui& ui, const Rect& cells, const MatrixView& view) {
    const Index rows = pyramid_.base().rows(), cols = pyramid_.base().cols();
    const auto all = static_cast<double>(std::max(rows, cols));
    const double side = view.shown(std::max(rows, cols)) / all;
    const ImVec2 pixels = ImGui::GetIO().DisplayFramebufferScale;
    detail_ = pyramid_.detail_for(side * static_cast<double>(rows) / (cells.height() * std::max(1.0f, pixels.y)),
                                  side * static_cast<double>(cols) / (cells.width() * std::max(1.0f, pixels.x)));
    const double from_i = view.first_i / all, from_j = view.first_j / all;
    const Along down = along(from_i, side, cells.y0, cells.height(), std::max<Index>(1, rows >> detail_.rows));
    const Along across = along(from_j, side, cells.x0, cells.width(), std::max<Index>(1, cols >> detail_.cols));
    ++drawings_;
    Canvas canvas = ui.draw();
    canvas.push_clip(cells.min(), cells.max());
    for (Index r = down.first; r <= down.last; ++r)
        for (Index c = across.first; c <= across.last; ++c) {
            const Index row = std::min((r + 1) * kTile, std::max<Index>(1, rows >> detail_.rows));
            const Index col = std::min((c + 1) * kTile, std::max<Index>(1, cols >> detail_.cols));
            canvas.image(tile({detail_, r, c}).texture.id(), {across.at(c * kTile), down.at(r * kTile)},
                         {across.at(col), down.at(row)});
        }
    canvas.pop_clip();
    give_up_oldest();
}

const HeatmapTiles::Tile& HeatmapTiles::tile(const Key& key) {
    Tile& tile = tiles_[key];
    tile.used = drawings_;
    if (tile.painted) return tile;
    const auto& [detail, r, c] = key;
    const bool base = detail == Detail{};
    const CellLevel* level = base ? nullptr : &pyramid_.level(detail);
    const ConstView<float> values = base ? ConstView<float>(pyramid_.base().values()) : ConstView<float>(level->values);
    const CellBlock block{r * kTile, c * kTile, std::min(kTile, values.rows() - r * kTile),
                          std::min(kTile, values.cols() - c * kTile)};
    tile.texture.upload(paint(values, base ? pyramid_.hidden() : level->hidden, block,
                              ColourMap::of_theme(painting_.map, painting_.theme), painting_.range,
                              theme_of(painting_.theme).hidden));
    tile.painted = true;
    return tile;
}

void HeatmapTiles::give_up_oldest() {
    while (tiles_.size() > kMostTiles) {
        const auto oldest = std::min_element(
            tiles_.begin(), tiles_.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
        if (oldest->second.used == drawings_) return;
        tiles_.erase(oldest);
    }
}

namespace {

/// Cells that a view shows at least in part.
struct Shown {
    Index first_i, last_i, first_j, last_j;
};

Shown shown_cells(const MatrixView& view, Index rows, Index cols) {
    const auto all = static_cast<double>(std::max(rows, cols));
    const double side = view.shown(std::max(rows, cols));
    const auto first = [&](double from, Index count) {
        return static_cast<Index>(from * static_cast<double>(count) / all);
    };
    const auto last = [&](double from, Index count) {
        return std::min(count - 1, static_cast<Index>(std::ceil((from + side) * static_cast<double>(count) / all)) - 1);
    };
    return {first(view.first_i, rows), last(view.first_i, rows), first(view.first_j, cols), last(view.first_j, cols)};
}

/// Written into a cell: with two decimals and more no leading zero, ".042", because space is short.
std::string cell_text(double value, int decimals) {
    // Whole numbers, such as ids of words, stay whole a little longer.
    if (std::isfinite(value) && std::abs(value) >= (decimals == 0 ? 1e6 : 1e5)) return scientific(value, 1);
    if (!std::isfinite(value) || value == std::round(value)) return fixed(value, 0);
    std::string digits = fixed(value, decimals);
    if (digits.find_first_of("123456789") == std::string::npos) return "0";
    if (const std::size_t zero = digits.find("0.");
        decimals > 1 && std::abs(value) < 1 && zero != std::string::npos && zero <= digits.find_first_of("123456789"))
        digits.erase(zero, 1);
    return digits;
}

}  // namespace

Rect cell_rect(const Rect& cells, const MatrixView& view, Index length, Cell cell) {
    return cell_rect(cells, view, length, length, cell);
}

Rect cell_rect(const Rect& cells, const MatrixView& view, Index rows, Index cols, Cell cell) {
    const auto all = static_cast<double>(std::max(rows, cols));
    const double side = view.shown(std::max(rows, cols));
    const double wide = all / static_cast<double>(cols), high = all / static_cast<double>(rows);
    const auto x = [&](double j) {
        return cells.x0 + static_cast<float>((j * wide - view.first_j) / side) * cells.width();
    };
    const auto y = [&](double i) {
        return cells.y0 + static_cast<float>((i * high - view.first_i) / side) * cells.height();
    };
    const auto i = static_cast<double>(cell.i), j = static_cast<double>(cell.j);
    return {std::floor(x(j) + 0.5f), std::floor(y(i) + 0.5f), std::floor(x(j + 1) + 0.5f), std::floor(y(i + 1) + 0.5f)};
}

Rect whole_cell_rect(const Rect& cells, Index rows, Index cols, Cell cell) {
    const auto at = [](float from, float size, Index n, Index count) {
        return std::floor(from + size * static_cast<float>(n) / static_cast<float>(count) + 0.5f);
    };
    return {at(cells.x0, cells.width(), cell.j, cols), at(cells.y0, cells.height(), cell.i, rows),
            at(cells.x0, cells.width(), cell.j + 1, cols), at(cells.y0, cells.height(), cell.i + 1, rows)};
}

Rect Heatmap::place(const Rect& cells, const MatrixView& view, Cell cell) const {
    return cell_rect(cells, view, values_.rows(), values_.cols(), cell);
}

void Heatmap::show(const PictureVersion& version, const SharedMatrix& values, const Mask& visible, MapKind map,
                   std::optional<ValueRange> range, std::optional<Pooling> pooling) {
    if (version_ == version) return;
    version_ = version;
    values_ = values;
    map_ = map;
    theme_ = version.theme;
    range_ = range ? *range : symmetric_range(values.values(), visible);
    all_finite_ = values_.values().allFinite();
    all_zero_ = (values_.values().array() == 0).all();
    all_whole_ = (values_.values().array() == values_.values().array().round()).all();
    pooling_ = pooling;
    tiles_.show(Pyramid(values, visible, pooling.value_or(Pooling::largest)), {map, theme_, range_});
}

void Heatmap::draw(const Ui& ui, const Rect& cells, const MatrixView& view, const Shade& shade) const {
    if (empty()) return;
    tiles_.pool_by(pooling_.value_or(ui.pooling));
    tiles_.draw(ui, cells, view);
    const Index longer = std::max(values_.rows(), values_.cols());
    const auto share = [&](double place) { return static_cast<float>(place / static_cast<double>(longer)); };
    ui.draw().note_image(cells.min(), cells.max(), {share(view.first_j), share(view.first_i)},
                         {share(view.first_j + view.shown(longer)), share(view.first_i + view.shown(longer))}, this);
    ui.draw().push_clip(cells.min(), cells.max());
    draw_hatching(ui, cells, view);
    draw_crosses(ui, cells, view);
    if (shade) draw_shade(ui, cells, view, shade);
    draw_values(ui, cells, view, shade);
    ui.draw().pop_clip();
    ui.outline({cells.x0 - 1, cells.y0 - 1, cells.x1 + 1, cells.y1 + 1}, ui.theme->line);
}

void Heatmap::draw_plain(const Ui& ui, const Rect& cells) const {
    if (empty()) return;
    tiles_.pool_by(pooling_.value_or(ui.pooling));
    tiles_.draw(ui, cells, {});
    ui.draw().note_image(cells.min(), cells.max(), {0, 0}, {1, 1}, this);
    ui.outline({cells.x0 - 1, cells.y0 - 1, cells.x1 + 1, cells.y1 + 1}, ui.theme->line);
}

void Heatmap::draw_hatching(const Ui& ui, const Rect& cells, const MatrixView& view) const {
    if (!masked()) return;
    const Shown shown = shown_cells(view, values_.rows(), values_.cols());
    const float pitch = ui.px(6);
    // One stretch of hidden cells of a row at a time; lines run on across rows because they hang on the screen.
    for (Index i = shown.first_i; i <= shown.last_i; ++i)
        for (Index j = shown.first_j; j <= shown.last_j; ++j) {
            if (!hidden(i, j)) continue;
            const Index first = j;
            while (j < shown.last_j && hidden(i, j + 1)) ++j;
            const Rect a = place(cells, view, {i, first});
            const Rect b = place(cells, view, {i, j});
            if (a.height() < ui.px(3)) continue;
            for (float s = std::floor((a.x0 + a.y0) / pitch) * pitch; s < b.x1 + b.y1; s += pitch) {
                const float top = std::max(a.y0, s - b.x1), bottom = std::min(b.y1, s - a.x0);
                if (top < bottom)
                    ui.draw().line({s - top, top}, {s - bottom, bottom}, faded(ui.theme->muted, 0.45f), 1);
            }
        }
}

bool Heatmap::writes_values(const Ui& ui, const Rect& cells, const MatrixView& view) const {
    // Where the largest number would be written as 0, cells leave it to their colours.
    const double largest = std::max(std::abs(range_.low), std::abs(range_.high));
    if (!all_zero_ && largest < (map_ == MapKind::diverging ? 0.0005 : 0.005)) return false;
    const Rect one = place(cells, view, {0, 0});
    // Letters do not become as small as everything else where the scale is below 1.
    float widest = std::max(ui.px(28), ui.text_width("\u22120.0", Face::mono_small) + 4);
    if (largest >= 1e5) widest = std::max(widest, ui.text_width(cell_text(-largest, 0), Face::mono_small) + 4);
    return one.width() >= widest && one.height() >= ui.px(16);
}

int Heatmap::decimals(const Ui& ui, float wide) const {
    if (all_whole_) return 0;
    const double largest = std::max(std::abs(range_.low), std::abs(range_.high));
    // One decimal says nothing of values that are all near 0, such as the weights of linear attention.
    const int most = map_ != MapKind::diverging ? 2 : largest < 1 ? 3 : 1;
    // The ends of the range may be whole numbers, which are written short: just inside them they are not.
    const auto fits = [&](double value) {
        return ui.text_width(cell_text(0.98 * value, most), Face::mono_small) <= wide - ui.px(6);
    };
    return fits(range_.low) && fits(range_.high) ? most : most - 1;
}

void Heatmap::draw_crosses(const Ui& ui, const Rect& cells, const MatrixView& view) const {
    if (all_finite_ || writes_values(ui, cells, view)) return;
    const Shown shown = shown_cells(view, values_.rows(), values_.cols());
    for (Index i = shown.first_i; i <= shown.last_i; ++i)
        for (Index j = shown.first_j; j <= shown.last_j; ++j) {
            if (std::isfinite(values()(i, j)) || hidden(i, j)) continue;
            const Rect cell = place(cells, view, {i, j});
            if (cell.width() < ui.px(4) || cell.height() < ui.px(4)) continue;
            const ImU32 ink = IM_COL32(15, 18, 24, 200);  // on magenta, in either theme
            ui.draw().line(cell.min(), cell.max(), ink, ui.px(1));
            ui.draw().line({cell.x0, cell.y1}, {cell.x1, cell.y0}, ink, ui.px(1));
        }
}

void Heatmap::draw_shade(const Ui& ui, const Rect& cells, const MatrixView& view, const Shade& shade) const {
    const Shown shown = shown_cells(view, values_.rows(), values_.cols());
    for (Index i = shown.first_i; i <= shown.last_i; ++i)
        for (Index j = shown.first_j; j <= shown.last_j; ++j)
            if (const float share = shade(i, j); share > 0)
                ui.fill(place(cells, view, {i, j}), faded(ui.theme->text, share));
}

void Heatmap::draw_values(const Ui& ui, const Rect& cells, const MatrixView& view, const Shade& shade) const {
    if (!writes_values(ui, cells, view)) return;
    const Shown shown = shown_cells(view, values_.rows(), values_.cols());
    const ColourMap& map = ColourMap::of_theme(map_, theme_);
    const int digits = decimals(ui, place(cells, view, {0, 0}).width());
    for (Index i = shown.first_i; i <= shown.last_i; ++i)
        for (Index j = shown.first_j; j <= shown.last_j; ++j) {
            if (hidden(i, j)) continue;
            const Rect cell = place(cells, view, {i, j});
            Rgb ground = map.of(values()(i, j), range_);
            if (shade) ground = blended(theme_colours(theme_).text, shade(i, j), ground);
            const ImU32 ink = to_colour(ink_on(ground));
            ui.text(cell.middle_x(), cell.middle_y(), cell_text(values()(i, j), digits), ink, Face::mono_small,
                    Align::centre);
        }
}

void Heatmap::draw_crosshair(const Ui& ui, const Rect& cells, const MatrixView& view, Cell cell) const {
    if (empty() || cell.i < 0 || cell.i >= values_.rows() || cell.j < 0 || cell.j >= values_.cols()) return;
    const Rect at = place(cells, view, cell);
    ui.draw().push_clip({cells.x0 - 1, cells.y0 - 1}, {cells.x1 + 1, cells.y1 + 1});
    const ImU32 faint = faded(ui.theme->text, 0.35f);
    // Two lines so near to each other would be one dark band over the cells that they point at.
    const float near = ui.px(4), line = ui.px(1);
    if (at.height() < near)
        ui.fill({cells.x0, std::floor(at.middle_y()), cells.x1, std::floor(at.middle_y()) + line}, faint);
    else
        ui.outline({cells.x0, at.y0, cells.x1, at.y1}, faint);
    if (at.width() < near)
        ui.fill({std::floor(at.middle_x()), cells.y0, std::floor(at.middle_x()) + line, cells.y1}, faint);
    else
        ui.outline({at.x0, cells.y0, at.x1, cells.y1}, faint);
    const bool tiny = at.width() < ui.px(6);
    ui.outline(tiny ? at.inset(-ui.px(2), -ui.px(2)) : at, ui.theme->text, 2);
    ui.draw().pop_clip();
}

float Heatmap::draw_legend(const Ui& ui, float x, float y, float limit) const {
    const std::string text = map_ == MapKind::diverging && range_.low == -range_.high ? "\u00b1" + brief(range_.high)
                             : all_zero_                                              ? "all 0"
                                         : brief(range_.low) + " \u2026 " + brief(range_.high);
    const float beside = ui.px(6) + ui.text_width(text, Face::mono_small);
    const float width = std::clamp(limit - x - beside, ui.px(24), ui.px(90)), height = ui.px(5);
    const ColourMap& map = ColourMap::of_theme(map_, theme_);
    const int steps = 45;
    for (int n = 0; n < steps; ++n) {
        const float left = x + std::floor(width * static_cast<float>(n) / steps);
        const float right = x + std::floor(width * static_cast<float>(n + 1) / steps);
        ui.fill({left, y - height / 2, right, y + height / 2}, to_colour(map.at((n + 0.5) / steps)));
    }
    ui.text(x + width + ui.px(6), y, text, ui.theme->muted, Face::mono_small);
    return x + width + beside;
}

std::optional<Cell> explore(const Ui& ui, const char* id, const Rect& cells, Index length, MatrixView& view,
                            bool& clicked) {
    return explore(ui, id, cells, length, length, view, clicked);
}

std::optional<Cell> explore(const Ui& ui, const char* id, const Rect& cells, Index rows, Index cols, MatrixView& view,
                            bool& clicked) {
    const Index length = std::max(rows, cols);
    const Touch mouse = ui.touch(id, cells);
    if (ui.log) {
        const double shown = view.shown(length), stretch = static_cast<double>(length) / shown;
        ui.log->matrices.push_back({ui.log->full_id(id),
                                    {cells.min(), cells.max()},
                                    view.first_i * static_cast<double>(rows) / static_cast<double>(length),
                                    view.first_j * static_cast<double>(cols) / static_cast<double>(length),
                                    cells.height() * stretch / static_cast<double>(rows),
                                    cells.width() * stretch / static_cast<double>(cols),
                                    rows,
                                    cols});
    }
    const ImGuiIO& io = ImGui::GetIO();
    const float x = (mouse.at.x - cells.x0) / cells.width(), y = (mouse.at.y - cells.y0) / cells.height();
    if (ImGui::IsMouseDown(ImGuiMouseButton_Right) && cells.holds(io.MouseClickedPos[ImGuiMouseButton_Right]))
        view.pan(Ui::pulled().x / cells.width(), Ui::pulled().y / cells.height(), length);
    if (!mouse.hovered) return std::nullopt;
    if (io.MouseWheel != 0) view.zoom(std::pow(1.2, static_cast<double>(io.MouseWheel)), x, y, length);
    if (mouse.double_clicked) view = {};
    clicked = mouse.clicked && !mouse.double_clicked;
    const double side = view.shown(length);
    const auto at = [&](double from, float share, Index count) {
        const double place = (from + share * side) * static_cast<double>(count) / static_cast<double>(length);
        return std::clamp<Index>(static_cast<Index>(place), 0, count - 1);
    };
    const Cell under{at(view.first_i, y, rows), at(view.first_j, x, cols)};
    ui.pointed = cell_rect(cells, view, rows, cols, under);
    return under;
}

void draw_glow(const Ui& ui, const Rect& area, const MatrixView& view, const ChangedCells& changed, double now) {
    const auto strength = static_cast<float>(changed.strength(now));
    const Mask& cells = changed.cells();
    if (strength <= 0 || cells.size() == 0) return;
    const ImU32 colour = faded(ui.theme->text, 0.55f * strength);
    ui.draw().push_clip(area.min(), area.max());
    for (Index i = 0; i < cells.rows(); ++i)
        for (Index j = 0; j < cells.cols();) {
            if (cells(i, j) == 0) {
                ++j;
                continue;
            }
            const Index first = j;  // neighbours in a row light up as one
            while (j < cells.cols() && cells(i, j) != 0) ++j;
            const Rect from = cell_rect(area, view, cells.rows(), cells.cols(), {i, first});
            const Rect to = cell_rect(area, view, cells.rows(), cells.cols(), {i, j - 1});
            if (from.y1 >= area.y0 && from.y0 <= area.y1) ui.fill({from.x0, from.y0, to.x1, from.y1}, colour);
        }
    ui.draw().pop_clip();
}

// A matrix under the keyboard.

namespace {

bool zoom_by_key(Cell cell, MatrixView& view, Index rows, Index cols, char32_t character) {
    const Index length = std::max(rows, cols);
    const double side = view.shown(length), all = static_cast<double>(length);
    const double x = ((static_cast<double>(cell.j) + 0.5) * all / static_cast<double>(cols) - view.first_j) / side;
    const double y = ((static_cast<double>(cell.i) + 0.5) * all / static_cast<double>(rows) - view.first_i) / side;
    switch (character) {
        case '+':
        case '=':
            view.zoom(1.25, x, y, length);
            return true;
        case '-':
            view.zoom(0.8, x, y, length);
            return true;
        case 'f':
            view = {};
            return true;
        default:
            return false;
    }
}

}  // namespace

bool move_cell(Cell& cell, bool& locked, MatrixView& view, Index length, const KeyPress& press) {
    return move_cell(cell, locked, view, length, length, press);
}

bool move_cell(Cell& cell, bool& locked, MatrixView& view, Index rows, Index cols, const KeyPress& press) {
    const auto step = [&](Index di, Index dj) {
        cell = {std::clamp<Index>(cell.i + di, 0, rows - 1), std::clamp<Index>(cell.j + dj, 0, cols - 1)};
        view.reveal(cell, rows, cols);
        locked = true;
        return true;
    };
    switch (press.key) {
        case Key::up:
            return step(-1, 0);
        case Key::down:
            return step(1, 0);
        case Key::left:
            return step(0, -1);
        case Key::right:
            return step(0, 1);
        case Key::space:
            locked = !locked;
            return true;
        case Key::character:
            return zoom_by_key(cell, view, rows, cols, press.character);
        default:
            return false;
    }
}

}  // namespace locus

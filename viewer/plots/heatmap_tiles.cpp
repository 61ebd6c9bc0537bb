#include "viewer/plots/heatmap_tiles.h"

#include <algorithm>
#include <cmath>

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

}  // namespace locus

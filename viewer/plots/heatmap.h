#pragma once
// A matrix as one texture: square cells, shared crosshair, zoom at the cursor.
#include <imgui.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "viewer/plots/colour_map.h"
#include "viewer/plots/pooling.h"
#include "viewer/theme.h"
#include "viewer/window.h"

namespace locus::view {

/// What is drawn.  Cells with hidden[i * cols + j] != 0 are hatched; empty: none are.
struct HeatmapData {
    Grid grid;
    std::vector<std::uint8_t> hidden;
    double range = 1;  // largest magnitude of the colour map
    MapKind kind = MapKind::diverging;
    std::uint64_t version = 0;  // changes whenever grid, range or kind do
};

/// The part of the matrix that is seen, shared by all matrices of a page.
struct HeatmapView {
    double first_row = 0, first_col = 0;
    double span = 0;  // cells across; 0 shows everything
};

/// A cell of the matrix; -1 is none.
struct Cell {
    int i = -1, j = -1;
    bool operator==(const Cell&) const = default;
    bool exists() const { return i >= 0 && j >= 0; }
};

/// What the pointer did.
struct HeatmapEvents {
    Cell hovered, clicked;
};

/// Textures of the matrices on screen, by name; at most one pyramid each.
class HeatmapTextures {
public:
    /// The texture of a level, made when the data, the theme or the level changed.
    ImTextureID get(const std::string& name, const HeatmapData& data, int level, bool dark);

private:
    struct Pyramid {
        std::uint64_t version = 0;
        bool dark = true;
        std::vector<Grid> grids;
        std::vector<Texture> textures;
    };
    std::map<std::string, Pyramid> pyramids_;
};

struct HeatmapStyle {
    Cell selected;  // outlined, with a crosshair
    Cell pointed;   // hovered in any matrix of the page: a faint crosshair
    const Palette* colours = nullptr;
    int value_decimals = 1;  // of numbers written into large cells
};

/// Draws the matrix into a square of `size` pixels at `corner`, and handles hover, click, wheel and drag there.
HeatmapEvents draw_heatmap(const std::string& name, ImVec2 corner, float size, const HeatmapData& data,
                           HeatmapTextures& textures, HeatmapView& view, const HeatmapStyle& style);

/// The colour bar and its range, below a matrix.
void draw_legend(ImVec2 corner, double range, MapKind kind, const Palette& colours);

/// Side of a cell in pixels under the view.
float cell_side(float size, const Grid& grid, const HeatmapView& view);

}  // namespace locus::view

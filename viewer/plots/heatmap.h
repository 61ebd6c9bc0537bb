#pragma once
// A matrix on screen, from its values to the pixels: the tiles on the graphics card, the heatmap that draws them with a
// crosshair and with values where they fit, the glow of changed cells, and what pointer and keys do to the view.
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "viewer/plots/difference.h"
#include "viewer/plots/matrix_view.h"
#include "viewer/plots/pyramid.h"
#include "viewer/state/state.h"
#include "viewer/ui/ui.h"
#include "viewer/ui/window.h"

namespace locus {

/// How values become colours.
struct Painting {
    MapKind map = MapKind::diverging;
    ThemeName theme = ThemeName::dark;
    ValueRange range;
};

/// A matrix of any size as pictures on the graphics card: only what is on screen, as fine as the screen shows it.
class HeatmapTiles {
public:
    /// Other values, or the same in other colours.
    void show(Pyramid pyramid, const Painting& painting);
    const Pyramid& pyramid() const { return pyramid_; }
    /// What blocks of cells become; tiles of the matrix itself stay.
    void pool_by(Pooling pooling);
    /// The part that the view shows, filling `cells`.  Cells smaller than a pixel are pooled, so that none is left out.
    void draw(const Ui& ui, const Rect& cells, const MatrixView& view);
    /// Cells of the matrix that a drawn block covered last, down and across: 1 where cells are pixels or larger.
    std::pair<Index, Index> pooled() const { return {Index{1} << detail_.rows, Index{1} << detail_.cols}; }

private:
    struct Tile {
        Texture texture;
        bool painted = false;
        std::uint64_t used = 0;  // in which drawing, for giving up the oldest
    };
    using Key = std::tuple<Detail, Index, Index>;  // row and column of the tile in its level

    const Tile& tile(const Key& key);
    void give_up_oldest();

    Pyramid pyramid_;
    Painting painting_;
    std::map<Key, Tile> tiles_;
    Detail detail_;
    std::uint64_t drawings_ = 0;
};

/// Pictures follow numbers: another answer, head or theme is another version.
struct PictureVersion {
    std::uint64_t answer = 0;
    Index part = 0;
    ThemeName theme = ThemeName::dark;
    bool operator==(const PictureVersion&) const = default;
};

/// A matrix with its picture on the graphics card.
class Heatmap {
public:
    /// Takes new values if the version changed.  visible [rows, cols] or empty.  Without a range the map is symmetric
    /// about 0 and as wide as the largest magnitude.
    /// Where a pixel holds several cells it takes what the screen asks for, unless one pooling alone makes sense here.
    void show(const PictureVersion& version, const SharedMatrix& values, const Mask& visible, MapKind map,
              std::optional<ValueRange> range = std::nullopt, std::optional<Pooling> pooling = std::nullopt);

    bool empty() const { return values_.size() == 0; }
    Eigen::Map<const Matrix<float>> values() const { return values_.values(); }
    const ValueRange& range() const { return range_; }
    MapKind map() const { return map_; }
    bool hidden(Index i, Index j) const { return masked() && tiles_.pyramid().hidden()(i, j) != 0; }

    /// How much of the text's colour lies over a cell, below its value: 0 none, 1 all.
    using Shade = std::function<float(Index i, Index j)>;
    /// The part of the matrix that the view shows, filling `cells`.
    void draw(const Ui& ui, const Rect& cells, const MatrixView& view = {}, const Shade& shade = {}) const;
    /// All of it without hatching and values: a small picture of a matrix.
    void draw_plain(const Ui& ui, const Rect& cells) const;
    /// Row and column of a cell, and the cell itself in full colour.
    void draw_crosshair(const Ui& ui, const Rect& cells, const MatrixView& view, Cell cell) const;
    /// The colour scale with its range, left end at x, centred on y; says what it spans.  The scale is shorter where
    /// that keeps it left of `limit`.  Returns where the text ends.
    float draw_legend(const Ui& ui, float x, float y, float limit = std::numeric_limits<float>::max()) const;

private:
    bool masked() const { return tiles_.pyramid().hidden().size() > 0; }
    Rect place(const Rect& cells, const MatrixView& view, Cell cell) const;
    bool writes_values(const Ui& ui, const Rect& cells, const MatrixView& view) const;
    /// How many every number of the matrix has, so that they fit their cells with room between them.
    int decimals(const Ui& ui, float wide) const;
    void draw_hatching(const Ui& ui, const Rect& cells, const MatrixView& view) const;
    void draw_crosses(const Ui& ui, const Rect& cells, const MatrixView& view) const;
    void draw_shade(const Ui& ui, const Rect& cells, const MatrixView& view, const Shade& shade) const;
    void draw_values(const Ui& ui, const Rect& cells, const MatrixView& view, const Shade& shade) const;

    std::optional<PictureVersion> version_;
    SharedMatrix values_;
    ValueRange range_;
    MapKind map_ = MapKind::diverging;
    ThemeName theme_ = ThemeName::dark;
    bool all_finite_ = true, all_zero_ = false, all_whole_ = false;
    std::optional<Pooling> pooling_;
    mutable HeatmapTiles tiles_;  // made when they come into sight
};

/// Where a cell lies on screen.
Rect cell_rect(const Rect& cells, const MatrixView& view, Index length, Cell cell);
/// The same for a matrix of any shape; the view counts cells of its longer side.
Rect cell_rect(const Rect& cells, const MatrixView& view, Index rows, Index cols, Cell cell);
/// The same for a matrix of any shape that is shown whole.
Rect whole_cell_rect(const Rect& cells, Index rows, Index cols, Cell cell);

/// Wheel zooms at the pointer, the right button pans, a double click shows everything.  Returns the cell under the
/// pointer; `clicked` tells if it was chosen with the left button.
std::optional<Cell> explore(const Ui& ui, const char* id, const Rect& cells, Index length, MatrixView& view,
                            bool& clicked);
std::optional<Cell> explore(const Ui& ui, const char* id, const Rect& cells, Index rows, Index cols, MatrixView& view,
                            bool& clicked);

/// Arrows move the cell and lock it, space locks or unlocks, + and - zoom at it, f shows everything.  False for other
/// keys.
bool move_cell(Cell& cell, bool& locked, MatrixView& view, Index length, const KeyPress& press);
bool move_cell(Cell& cell, bool& locked, MatrixView& view, Index rows, Index cols, const KeyPress& press);

/// Changed cells light up over a matrix and fade: draws what is left of the glow at `now` over the cells of a matrix
/// shown in `area` under `view`.
void draw_glow(const Ui& ui, const Rect& area, const MatrixView& view, const ChangedCells& changed, double now);

}  // namespace locus

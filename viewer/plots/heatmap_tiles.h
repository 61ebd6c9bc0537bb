#pragma once
// A matrix of any size as pictures on the graphics card: only what is on screen, as fine as the screen shows it.
#include <map>
#include <tuple>

#include "viewer/plots/matrix_view.h"
#include "viewer/plots/pyramid.h"
#include "viewer/ui/ui.h"
#include "viewer/ui/window.h"

namespace locus {

/// How values become colours.
struct Painting {
    MapKind map = MapKind::diverging;
    ThemeName theme = ThemeName::dark;
    ValueRange range;
    bool operator==(const Painting&) const = default;
};

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

}  // namespace locus

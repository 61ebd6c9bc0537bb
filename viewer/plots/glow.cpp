#include "viewer/plots/glow.h"

#include <algorithm>

#include "viewer/plots/heatmap.h"

namespace locus {

void draw_glow(const Ui& ui, const Rect& room, const MatrixView& view, const ChangedCells& changed, double now) {
    const auto strength = static_cast<float>(changed.strength(now));
    const Mask& cells = changed.cells();
    if (strength <= 0 || cells.size() == 0) return;
    const ImU32 colour = faded(ui.theme->text, 0.55f * strength);
    ui.draw().push_clip(room.min(), room.max());
    for (Index i = 0; i < cells.rows(); ++i)
        for (Index j = 0; j < cells.cols();) {
            if (cells(i, j) == 0) {
                ++j;
                continue;
            }
            const Index first = j;  // neighbours in a row light up as one
            while (j < cells.cols() && cells(i, j) != 0) ++j;
            const Rect from = cell_rect(room, view, cells.rows(), cells.cols(), {i, first});
            const Rect to = cell_rect(room, view, cells.rows(), cells.cols(), {i, j - 1});
            if (from.y1 >= room.y0 && from.y0 <= room.y1) ui.fill({from.x0, from.y0, to.x1, from.y1}, colour);
        }
    ui.draw().pop_clip();
}

}  // namespace locus

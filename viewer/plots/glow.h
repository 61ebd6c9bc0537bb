#pragma once
// Changed cells light up over a matrix and fade.
#include "viewer/plots/changed_cells.h"
#include "viewer/plots/matrix_view.h"
#include "viewer/ui/ui.h"

namespace locus {

/// Draws what is left of the glow at `now` over the cells of a matrix shown in `room` under `view`.
void draw_glow(const Ui& ui, const Rect& room, const MatrixView& view, const ChangedCells& changed, double now);

}  // namespace locus

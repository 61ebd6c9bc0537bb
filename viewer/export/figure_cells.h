#pragma once
// The colours of a heatmap's cells, for figures.
#include "viewer/export/figure_svg.h"
#include "viewer/plots/heatmap.h"

namespace locus {

/// What an image of a heatmap shows; where that is more than 1024 cells along a side, blocks of cells, each in the
/// colour of the value farthest from 0.
CellPicture cells_of(const ImageMark& image, ThemeName theme);

}  // namespace locus

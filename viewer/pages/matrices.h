#pragma once
// What the pages with several matrices share: data for the heatmaps, labels, titles.
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/tensor.h"
#include "viewer/app.h"
#include "viewer/plots/heatmap.h"

namespace locus::view {

/// A matrix as heatmap data.  A range of 0 takes the largest magnitude of the values.
HeatmapData as_heatmap(const Matrix<float>& values, MapKind kind, double range, std::uint64_t version);

/// Row labels to the left of a matrix, one per row where they fit; the selected one in full colour.
void draw_row_labels(ImVec2 corner, float width, float size, const std::vector<std::string>& labels, const Grid& grid,
                     const HeatmapView& view, int selected, const Palette& colours);
/// Title at the left and a short note at the right of a matrix, above it.
void draw_matrix_title(ImVec2 corner, float width, const std::string& title, ImU32 colour, const std::string& note,
                       const Palette& colours);
/// Width that the longest label needs, within reason.
float label_width(const std::vector<std::string>& labels);
/// The tooltip of a cell.
void cell_tooltip(const std::vector<std::string>& labels, Cell cell, const std::string& name, double value);

}  // namespace locus::view

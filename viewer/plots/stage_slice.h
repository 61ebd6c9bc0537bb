#pragma once
// The matrices inside a stage of any rank: its last two axes, one matrix for every sample and head.
#include <optional>
#include <string>
#include <vector>

#include "core/trace.h"
#include "viewer/plots/matrix_view.h"

namespace locus {

struct StageMatrices {
    Index samples = 1, heads = 1;  // what is left of H: samples; 1 where there is no such axis
    Index rows = 1, cols = 1;
    std::string row_axis, col_axis;  // "Tq", "Tk", "d"; empty where the rank is too low

    bool operator==(const StageMatrices&) const = default;
};

/// One cell of a stage.
struct StagePlace {
    Index sample = 0, head = 0;
    Cell cell;
    bool operator==(const StagePlace&) const = default;
};

/// A stage of rank 0 is one cell, of rank 1 one row.  Axes are those that the stage names, else B, H and two more.
StageMatrices matrices_of(const Stage& stage);
/// One matrix as double; sample and head inside the bounds of matrices_of.
Matrix<double> matrix_of(const Stage& stage, Index sample, Index head);
/// Where an index of as many numbers as the stage has axes lies; nothing if it is outside the stage.
std::optional<StagePlace> place_of(const Stage& stage, const std::vector<Index>& index);

/// True for the axes that count tokens: T, Tq, Tk, M.
bool counts_tokens(const std::string& axis);
/// "query", "key", "token", "channel of the head", "table row": what one step along the axis is.
std::string axis_in_words(const std::string& axis);
/// The same stage of another layer: "layer.2.p2c", 4 -> "layer.4.p2c"; names outside layers stay.
std::string at_layer(const std::string& stage, Index layer);
/// 2 of "layer.2.p2c"; -1 outside layers.
Index layer_of(const std::string& stage);

}  // namespace locus

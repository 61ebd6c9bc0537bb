#pragma once
// Several cells at once: rows and columns of a matrix, and what they come to.
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "viewer/plots/matrix_view.h"

namespace locus {

/// Queries and keys, rising; an empty list means all of them unless both are empty: then nothing is selected.
struct Selection {
    std::vector<Index> rows, cols;

    bool empty() const { return rows.empty() && cols.empty(); }
    bool operator==(const Selection&) const = default;
};

/// The rectangle between two corners, whichever way it was drawn.
Selection block_of(Cell one, Cell other);
/// Adds the number to a rising list, or takes it out.
void toggle(std::vector<Index>& numbers, Index number);
/// Takes out what a matrix of that many rows and columns does not have.
Selection inside(const Selection& selection, Index rows, Index cols);
/// "3 … 5, 8": runs of neighbours.
std::string runs_in_words(const std::vector<Index>& numbers);

/// Over the visible pairs of the selection.
struct SelectionTotal {
    Index pairs = 0;
    double sum = 0;
    double mean() const { return sum / static_cast<double>(pairs); }  // NaN without a pair
};
/// values [rows, cols], visible [rows, cols] or empty.  Throws if the selection lies outside or is empty.
SelectionTotal total_of(const ConstView<float>& values, const Mask& visible, const Selection& selection);

/// Per column the total over these rows: [cols].  The same for columns: [rows].  Throws as total_of.
std::vector<SelectionTotal> totals_of_rows(const ConstView<float>& values, const Mask& visible,
                                           const std::vector<Index>& rows);
std::vector<SelectionTotal> totals_of_cols(const ConstView<float>& values, const Mask& visible,
                                           const std::vector<Index>& cols);

}  // namespace locus

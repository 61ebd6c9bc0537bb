#pragma once
// Which part of a matrix is on screen, and which of its cells are selected.
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

struct Cell {
    Index i = 0, j = 0;
    bool operator==(const Cell&) const = default;
};

/// A square window of `extent` cells whose top-left corner is (first_i, first_j); extent 0 shows everything.
struct MatrixView {
    double first_i = 0, first_j = 0, extent = 0;

    bool fits_all() const { return extent == 0; }
    /// Cells along a side that are on screen, for a matrix of `cells` x `cells`.
    double shown(Index cells) const;
    /// Multiplies the scale by `factor` so that the point (x, y), in shares 0 ... 1 of the window, stays where it is.
    /// Never less than 2 cells, never more than all of them.
    void zoom(double factor, double x, double y, Index cells);
    /// Moves the content by (dx, dy) shares of the window.
    void pan(double dx, double dy, Index cells);
    /// Brings the window back inside the matrix, e.g. after the text became shorter.
    void clamp(Index cells);
    /// Moves as little as possible so that cell (i, j) is inside.
    void reveal(Index i, Index j, Index cells);
    /// The same for a matrix of any shape, which is laid out as a square of max(rows, cols) cells with its own cells
    /// stretched over it.
    void reveal(Cell cell, Index rows, Index cols);
};

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

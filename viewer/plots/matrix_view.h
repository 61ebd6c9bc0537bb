#pragma once
// Which part of a matrix is on screen.
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

}  // namespace locus

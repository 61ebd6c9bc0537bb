#include "viewer/plots/matrix_view.h"

#include <algorithm>

namespace locus {

double MatrixView::shown(Index cells) const {
    const auto all = static_cast<double>(cells);
    return extent == 0 ? all : std::min(extent, all);
}

void MatrixView::clamp(Index cells) {
    const auto all = static_cast<double>(cells);
    if (extent >= all) extent = 0;
    const double room = all - shown(cells);
    first_i = std::clamp(first_i, 0.0, room);
    first_j = std::clamp(first_j, 0.0, room);
}

void MatrixView::zoom(double factor, double x, double y, Index cells) {
    const double before = shown(cells), all = static_cast<double>(cells);
    extent = std::clamp(before / factor, std::min(2.0, all), all);
    first_j += x * (before - extent);
    first_i += y * (before - extent);
    clamp(cells);
}

void MatrixView::pan(double dx, double dy, Index cells) {
    first_j -= dx * shown(cells);
    first_i -= dy * shown(cells);
    clamp(cells);
}

void MatrixView::reveal(Index i, Index j, Index cells) {
    const double side = shown(cells);
    first_i = std::clamp(first_i, static_cast<double>(i) + 1 - side, static_cast<double>(i));
    first_j = std::clamp(first_j, static_cast<double>(j) + 1 - side, static_cast<double>(j));
    clamp(cells);
}

void MatrixView::reveal(Cell cell, Index rows, Index cols) {
    const Index all = std::max(rows, cols);
    // The last place that a cell covers first, so that the start of a cell wider than the window wins.
    reveal(((cell.i + 1) * all - 1) / rows, ((cell.j + 1) * all - 1) / cols, all);
    reveal(cell.i * all / rows, cell.j * all / cols, all);
}

}  // namespace locus

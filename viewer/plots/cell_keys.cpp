// A matrix under the keyboard.
#include <algorithm>

#include "viewer/plots/heatmap.h"

namespace locus {

namespace {

bool zoom_by_key(Cell cell, MatrixView& view, Index rows, Index cols, char32_t character) {
    const Index length = std::max(rows, cols);
    const double side = view.shown(length), all = static_cast<double>(length);
    const double x = ((static_cast<double>(cell.j) + 0.5) * all / static_cast<double>(cols) - view.first_j) / side;
    const double y = ((static_cast<double>(cell.i) + 0.5) * all / static_cast<double>(rows) - view.first_i) / side;
    switch (character) {
        case '+':
        case '=':
            view.zoom(1.25, x, y, length);
            return true;
        case '-':
            view.zoom(0.8, x, y, length);
            return true;
        case 'f':
            view = {};
            return true;
        default:
            return false;
    }
}

}  // namespace

bool move_cell(Cell& cell, bool& locked, MatrixView& view, Index length, const KeyPress& press) {
    return move_cell(cell, locked, view, length, length, press);
}

bool move_cell(Cell& cell, bool& locked, MatrixView& view, Index rows, Index cols, const KeyPress& press) {
    const auto step = [&](Index di, Index dj) {
        cell = {std::clamp<Index>(cell.i + di, 0, rows - 1), std::clamp<Index>(cell.j + dj, 0, cols - 1)};
        view.reveal(cell, rows, cols);
        locked = true;
        return true;
    };
    switch (press.key) {
        case Key::up:
            return step(-1, 0);
        case Key::down:
            return step(1, 0);
        case Key::left:
            return step(0, -1);
        case Key::right:
            return step(0, 1);
        case Key::space:
            locked = !locked;
            return true;
        case Key::character:
            return zoom_by_key(cell, view, rows, cols, press.character);
        default:
            return false;
    }
}

}  // namespace locus

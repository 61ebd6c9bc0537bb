// A matrix under the keyboard.
#include <algorithm>

#include "viewer/plots/heatmap.h"

namespace locus {

namespace {

bool zoom_by_key(Cell cell, MatrixView& view, Index length, char32_t character) {
    const double side = view.shown(length);
    const double x = (static_cast<double>(cell.j) + 0.5 - view.first_j) / side;
    const double y = (static_cast<double>(cell.i) + 0.5 - view.first_i) / side;
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
    const auto step = [&](Index di, Index dj) {
        cell = {std::clamp<Index>(cell.i + di, 0, length - 1), std::clamp<Index>(cell.j + dj, 0, length - 1)};
        view.reveal(cell.i, cell.j, length);
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
            return zoom_by_key(cell, view, length, press.character);
        default:
            return false;
    }
}

}  // namespace locus

#include "viewer/plots/shift_animation.h"

#include <algorithm>

#include "core/attention/relative.h"

namespace locus {

namespace {

/// Every number names its cell: 1 + query * columns + column; 0 stays the zero of the padding.
Matrix<double> named_products(Index queries, Index columns) {
    Matrix<double> named(queries, columns);
    for (Index n = 0; n < named.size(); ++n) named.data()[n] = static_cast<double>(1 + n);
    return named;
}

/// `first`: distance of column 0.
FilmFrame frame_of(const std::string& what, const Matrix<double>& named, Index columns, Index first) {
    FilmFrame frame{what, named.rows(), named.cols(), {}, {}};
    for (Index n = 0; n < named.size(); ++n) {
        const auto name = static_cast<Index>(named.data()[n]);
        FilmCell cell;
        cell.padding = name == 0;
        if (!cell.padding) {
            cell.query = (name - 1) / columns;
            cell.distance = first - (name - 1) % columns;
        }
        frame.cells.push_back(cell);
    }
    return frame;
}

/// Marks what does not stand at its own query and distance; zeros of the padding are not counted.
void mark_leaks(FilmFrame& frame, Index memory) {
    for (Index i = 0; i < frame.rows; ++i)
        for (Index j = 0; j < frame.columns; ++j) {
            FilmCell& cell = frame.cells[static_cast<std::size_t>(i * frame.columns + j)];
            cell.leaked = !cell.padding && (cell.query != i || cell.distance != memory + i - j);
        }
}

/// Cell n of `frame` goes to the place that `place` says, or nowhere (-1).
template <class Place>
void send(FilmFrame& frame, Place place) {
    for (Index n = 0; n < frame.rows * frame.columns; ++n) frame.goes_to.push_back(place(n));
}

}  // namespace

std::vector<FilmFrame> shift_film(Index queries, Index memory) {
    const Index keys = memory + queries;
    std::vector<FilmFrame> film;
    for (const ShiftFrame<double>& step : shift_frames<double>(named_products(queries, keys)))
        film.push_back(frame_of(step.what, step.values, keys, keys - 1));
    // In the last picture the rows are queries again: whatever came from another one has leaked.
    mark_leaks(film.back(), memory);
    film.push_back(film.back());
    film.back().what = "mask: keys right of the query are hidden";
    const Mask visible = transformer_xl_mask(queries, memory, false, memory);
    for (Index n = 0; n < queries * keys; ++n)
        film.back().cells[static_cast<std::size_t>(n)].hidden = visible.data()[n] == 0;
    send(film[0], [&](Index n) { return n + n / keys + 1; });
    send(film[1], [](Index n) { return n; });
    send(film[2], [&](Index n) { return std::max<Index>(n - queries, -1); });
    send(film[3], [](Index n) { return n; });
    send(film[4], [](Index n) { return n; });
    return film;
}

std::vector<FilmFrame> shift_film_xlnet(Index queries, Index memory) {
    const Index keys = memory + queries, columns = keys + queries;
    std::vector<FilmFrame> film;
    for (const ShiftFrame<double>& step : shift_frames_xlnet<double>(named_products(queries, columns), keys))
        film.push_back(frame_of(step.what, step.values, columns, keys));
    film[0].what = "(q_i + v) . r_k for " + std::to_string(columns) + " distances, on both sides";
    mark_leaks(film.back(), memory);
    send(film[0], [](Index n) { return n; });
    send(film[1], [&](Index n) { return std::max<Index>(n - queries, -1); });
    send(film[2], [](Index n) { return n; });
    send(film[3], [&](Index n) {
        const Index row = n / (columns - 1), column = n % (columns - 1);
        return column < keys ? row * keys + column : -1;
    });
    FilmFrame causal = shift_film(queries, memory)[4];
    causal.what = "not this: the causal code, no mask covers the right";
    causal.goes_to.clear();
    film.push_back(std::move(causal));
    return film;
}

Index leaked_cells(const FilmFrame& frame) {
    return std::count_if(frame.cells.begin(), frame.cells.end(),
                         [](const FilmCell& cell) { return cell.leaked && !cell.hidden; });
}

}  // namespace locus

#include "viewer/plots/segment_tape.h"

#include <algorithm>
#include <cmath>

#include "core/attention/relative.h"

namespace locus {

Index SegmentTape::word_at(float x) const {
    return std::clamp<Index>(static_cast<Index>(std::floor((x - left) / pitch())), 0, words() - 1);
}

Index SegmentTape::memory_at(float x) const {
    return std::clamp<Index>(longest - static_cast<Index>(std::lround((x - left) / pitch())), 0, longest);
}

namespace {

/// Every number names its cell: 1 + query * keys + distance; 0 stays the zero of the padding.
Matrix<double> named_products(Index queries, Index keys) {
    Matrix<double> named(queries, keys);
    for (Index i = 0; i < queries; ++i)
        for (Index t = 0; t < keys; ++t) named(i, t) = static_cast<double>(1 + i * keys + (keys - 1 - t));
    return named;
}

FilmFrame frame_of(const std::string& what, const Matrix<double>& named, Index keys) {
    FilmFrame frame{what, named.rows(), named.cols(), {}};
    for (Index n = 0; n < named.size(); ++n) {
        const auto name = static_cast<Index>(named.data()[n]);
        FilmCell cell;
        cell.padding = name == 0;
        if (!cell.padding) {
            cell.query = (name - 1) / keys;
            cell.distance = (name - 1) % keys;
        }
        frame.cells.push_back(cell);
    }
    return frame;
}

}  // namespace

std::vector<FilmFrame> shift_film(Index queries, Index memory) {
    const Index keys = memory + queries;
    const Matrix<double> named = named_products(queries, keys);
    std::vector<FilmFrame> film;
    for (const ShiftFrame<double>& step : shift_frames<double>(named))
        film.push_back(frame_of(step.what, step.values, keys));
    // In the last picture the rows are queries again: whatever came from another one has leaked.
    FilmFrame& placed = film.back();
    const Mask visible = transformer_xl_mask(queries, memory, false, memory);
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) {
            FilmCell& cell = placed.cells[static_cast<std::size_t>(i * keys + j)];
            cell.leaked = !cell.padding && cell.query != i;
        }
    film.push_back(placed);
    film.back().what = "mask: keys right of the query are hidden";
    for (Index n = 0; n < queries * keys; ++n)
        film.back().cells[static_cast<std::size_t>(n)].hidden = visible.data()[n] == 0;
    return film;
}

}  // namespace locus

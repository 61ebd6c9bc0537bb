#pragma once
// Embedding rows: one thread a channel copies it.
#include <cstdint>
#include <vector>

#include "cuda/reference/backend.h"

namespace locus::cuda {

template <class Scalar>
struct GatherCell {
    const Scalar* table;
    const int* positions;
    int channels;
    Scalar* rows;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, channels);
        rows[n] = table[row_start(positions[cell.i], channels) + cell.j];
    }
};

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> learned_rows(const Place& place, const Matrix<Scalar>& table,
                            const std::vector<std::int64_t>& positions) {
    for (const std::int64_t position : positions) {
        LOCUS_CHECK(position >= 0, "cuda::learned_rows: position " + std::to_string(position) + ", expected 0 or more");
        if (position >= table.rows())
            throw Error(Fault::unsupported, "cuda::learned_rows: position " + std::to_string(position) +
                                                " is past the end of a table of " + std::to_string(table.rows()) +
                                                " rows, expected 0 to " + std::to_string(table.rows() - 1));
    }
    const auto count = static_cast<Index>(positions.size());
    const auto there = upload(place, table);
    const auto there_positions = upload_as_int(place, positions);
    auto rows = room<Scalar>(place, count, table.cols());
    place.each(count * table.cols(),
               GatherCell<Scalar>{there.data(), there_positions.data(), narrow(table.cols()), rows.data()});
    return download(place, rows, count, table.cols());
}

}  // namespace twin

}  // namespace locus::cuda

#pragma once
// What kernels that work tile by tile make of the disentangled terms at the edges of their tiles.
#include <array>
#include <string>

#include "tests/conformance/mistake.h"
#include "tests/conformance/relative_rule.h"

namespace locus::conformance {

/// Rows and columns of a tile that kernels are written with.
inline constexpr std::array<Index, 4> kTiles = {8, 16, 32, 64};

inline std::string in_tiles_of(Index tile) { return " (tiles of " + std::to_string(tile) + ")"; }

/// Throws NotEnough for a text that fits into one tile: nothing has an edge there.
inline void require_tiles(Index tile, Index queries, Index keys) {
    if (std::max(queries, keys) <= tile) throw NotEnough{"a text longer than a tile"};
}

/// all[b,h,x,r] of every row of the table, picked where row(i,j) says; rows that are not there count as zero.
/// by_query: x is i (c2p), else j (p2c).
template <class Row>
Tensor<double> picked(const Tensor<double>& all, Index queries, Index keys, bool by_query, Row row) {
    const Index count = all.extent(3);
    if (all.extent(2) != (by_query ? queries : keys)) throw NotEnough{"terms of the text's length"};
    std::vector<Index> rows;
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) rows.push_back(row(i, j));
    Tensor<double> terms({all.extent(0), all.extent(1), queries, keys});
    for (Index n = 0; n < terms.size(); ++n) {
        const Index cell = n % (queries * keys), head = n / (queries * keys);
        const Index at = rows[static_cast<std::size_t>(cell)], x = by_query ? cell / keys : cell % keys;
        if (at >= 0 && at < count) terms[n] = all[(head * all.extent(2) + x) * count + at];
    }
    return terms;
}

}  // namespace locus::conformance

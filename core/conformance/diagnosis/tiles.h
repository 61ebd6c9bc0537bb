#pragma once
// What kernels that work tile by tile make of the disentangled terms at the edges of their tiles.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistake.h"

namespace locus::conformance {

/// Rows and columns of a tile that kernels are written with.
inline constexpr std::array<Index, 4> kTiles = {8, 16, 32, 64};

inline std::string in_tiles_of(Index tile) { return " (tiles of " + std::to_string(tile) + ")"; }

/// Throws NotEnough for a text that fits into one tile: nothing has an edge there.
inline void require_tiles(Index tile, Index queries, Index keys) {
    if (std::max(queries, keys) <= tile) throw NotEnough{"a text longer than a tile"};
}

/// all[b,h,x,r] of every row of the table, picked where row(i,j) says; rows that are not there count as zero.
/// by_query: x is i (c2p), else j (p2c).  Only for a candidate that reports the term, `claim`, and throws NotEnough as
/// soon as one of a few cells refutes it: there are many tiles to try, and long texts.
template <class Row>
Tensor<double> picked(const Tensor<double>* claim, const Tensor<double>& all, Index queries, Index keys, bool by_query,
                      Row row) {
    constexpr Index kProbes = 199;
    const Index count = all.extent(3);
    if (all.extent(2) != (by_query ? queries : keys)) throw NotEnough{"terms of the text's length"};
    Tensor<double> terms({all.extent(0), all.extent(1), queries, keys});
    if (!claim || claim->shape() != terms.shape()) throw NotEnough{"the candidate's own term"};
    const auto value = [&](Index n, Index at) {
        const Index cell = n % (queries * keys), head = n / (queries * keys), x = by_query ? cell / keys : cell % keys;
        return at >= 0 && at < count ? all[(head * all.extent(2) + x) * count + at] : 0.0;
    };
    const Index step = std::max<Index>(1, terms.size() / kProbes);
    double size = 0, worst = 0;
    for (Index n = 0; n < terms.size(); n += step) {
        const Index cell = n % (queries * keys);
        size = std::max(size, std::abs((*claim)[n]));
        worst = std::max(worst, std::abs((*claim)[n] - value(n, row(cell / keys, cell % keys))));
    }
    if (worst > 0.1 * size) throw NotEnough{"numbers that a tile makes"};
    std::vector<Index> rows;
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) rows.push_back(row(i, j));
    for (Index n = 0; n < terms.size(); ++n) terms[n] = value(n, rows[static_cast<std::size_t>(n % (queries * keys))]);
    return terms;
}

}  // namespace locus::conformance

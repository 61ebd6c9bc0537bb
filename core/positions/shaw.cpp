#include "core/positions/shaw.h"

#include <algorithm>

namespace locus {

Index shaw_row(std::int64_t offset, Index span) {
    LOCUS_CHECK(span >= 0, "shaw_row: span is " + std::to_string(span) + ", expected 0 or more");
    return std::clamp<std::int64_t>(offset, -span, span) + span;
}

IndexTensor shaw_index(Index queries, Index keys, Index span) {
    LOCUS_CHECK(queries >= 1 && keys >= 1, "shaw_index: queries is " + std::to_string(queries) + " and keys " +
                                               std::to_string(keys) + ", expected 1 or more of each");
    IndexTensor index({queries, keys});
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) index[i * keys + j] = shaw_row(j - i, span);
    return index;
}

Index shaw_span(const char* what, Index rows) {
    LOCUS_CHECK(rows % 2 == 1, std::string(what) + " has " + std::to_string(rows) +
                                   " rows, expected an odd number: 2k + 1 for the offsets -k to k");
    return (rows - 1) / 2;
}

}  // namespace locus

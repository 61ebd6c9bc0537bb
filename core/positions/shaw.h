#pragma once
// Which row of Shaw's relative tables serves the pair (i, j)?  Used by lesson 27.  Shaw et al. 2018, section 3.2.
// Unlike DeBERTa's buckets: the offset is j - i, and the table has an odd number of rows, 2k + 1, so that -k and +k are
// both in it.
#include <cstdint>

#include "core/tensor.h"

namespace locus {

/// clip(offset, -k, k) + k with offset = j - i -> 0 ... 2k.  Throws Error(usage) for a span k < 0.
Index shaw_row(std::int64_t offset, Index span);

/// The matrix of rows for all pairs -> [queries,keys].
IndexTensor shaw_index(Index queries, Index keys, Index span);

/// k of a table of 2k + 1 rows.  Throws Error(usage) naming `what` if the number of rows is even.
Index shaw_span(const char* what, Index rows);

}  // namespace locus

#pragma once
// Which row of the relative table serves the offset i - j?
// He et al. 2021 (DeBERTa) section 3.1; microsoft/DeBERTa da_utils.py (log buckets).
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// What happens to offsets of max_position and more before the logarithm, and in which precision that is taken.
enum class OffsetClamp {
    official,  // microsoft/DeBERTa: i - j is clamped to +-(max_position - 1) first; in double
    hf,  // transformers 4.57: not clamped; only the final row is, so far keys on the right use row 0 instead of 1; in
         // float32, which is another bucket for a few offsets of some tables: (128, 513) 128 and 256, not (256, 512)
};

/// Signed log bucket of one offset, before the shift by the span (itself up to buckets/2, then logarithmic).
/// Throws Error(usage) unless buckets >= 2, even, and max_position >= 1; an offset beyond buckets / 2 that is not
/// clamped needs max_position > buckets / 2 + 1, for the logarithm would not rise there.
std::int64_t log_bucket(std::int64_t offset, Index buckets, Index max_position, OffsetClamp clamp);

/// One row number per offset i - j, for all pairs of `queries` x `keys` tokens.
/// The whole index matrix is Toeplitz, so queries + keys - 1 numbers replace it.
class RelativeBuckets {
public:
    /// row = clamp(i - j + span, 0, 2 span - 1): version 1, and version 2 without buckets.
    /// Throws Error(usage) if an argument is < 1.
    static RelativeBuckets clamped(Index queries, Index keys, Index span);
    /// row = clamp(log_bucket(i - j) + buckets, 0, 2 buckets - 1): versions 2 and 3.  The span is `buckets`.
    /// Throws Error(usage) if queries or keys is < 1, and as log_bucket.
    static RelativeBuckets logarithmic(Index queries, Index keys, Index buckets, Index max_position, OffsetClamp clamp);

    Index queries() const { return queries_; }
    Index keys() const { return keys_; }
    /// k; the table has 2k rows.
    Index span() const { return span_; }
    /// Row of the pair (i, j), 0 <= i < queries, 0 <= j < keys.
    Index row(Index i, Index j) const { return rows_[static_cast<std::size_t>(i - j + keys_ - 1)]; }
    /// Row of an offset i - j, -(keys - 1) <= offset <= queries - 1.
    Index row_of_offset(Index offset) const { return rows_[static_cast<std::size_t>(offset + keys_ - 1)]; }
    /// [queries + keys - 1] rows, offset -(keys - 1) first.
    const std::vector<Index>& rows() const { return rows_; }
    /// The matrix delta(i,j) [queries, keys], for people and traces.
    IndexTensor matrix() const;
    /// The transpose, for `keys` queries and `queries` keys: row'(j, i) = row(i, j).  Where both are as many, its
    /// matrix is delta(j,i), which the paper prints for p2c.
    RelativeBuckets mirrored() const;

private:
    RelativeBuckets(Index queries, Index keys, Index span, std::vector<Index> rows);

    Index queries_ = 0;
    Index keys_ = 0;
    Index span_ = 0;
    std::vector<Index> rows_;
};

}  // namespace locus

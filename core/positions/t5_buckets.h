#pragma once
// T5's relative buckets: small distances each have their own, larger ones share logarithmically growing ones.
// Used by lesson 27.  Raffel et al. 2020, section 2.1; transformers modeling_t5.py _relative_position_bucket.
// Unlike DeBERTa's log buckets the offset is j - i, the logarithm is cut down (floor, not ceil), and a bucket holds one
// number per head, not a vector.
#include <cstdint>

#include "core/positions/offset_bias.h"
#include "core/tensor.h"

namespace locus {

struct T5Buckets {
    Index buckets = 32;
    Index max_distance = 128;   // from here on everything shares the last bucket
    bool bidirectional = true;  // true: the upper half of the buckets is for keys behind the query; false: decoder
};

/// Bucket of an offset j - i.  Per direction n buckets (half of all if bidirectional), m = n / 2 of them exact:
/// distance < m -> itself, else min(m + floor(ln(distance / m) / ln(max_distance / m) * (n - m)), n - 1).
/// A decoder puts every later key, which its mask hides, into bucket 0.
/// Throws Error(usage) unless buckets is even and leaves m >= 1 per direction, and max_distance > m.
Index t5_bucket(std::int64_t offset, const T5Buckets& config);

/// The matrix of buckets for all pairs -> [queries,keys].
IndexTensor t5_index(Index queries, Index keys, const T5Buckets& config);

/// b[h, bucket(j - i)] as a line: table [buckets,H], the layout of relative_attention_bias.weight -> H lines.
/// Throws Error(usage) if the table does not have one row per bucket.
template <class Scalar>
OffsetBias<Scalar> t5_bias_line(const ConstView<Scalar>& table, Index queries, Index keys, const T5Buckets& config);

/// From the gradient of the line to that of the table: d_table[bucket(o), h] = the sum of d_line[h, o] over the offsets
/// o of that bucket; a bucket that no offset has gets exactly 0.  -> [buckets,H].
template <class Scalar>
Matrix<Scalar> t5_bias_line_backward(const OffsetBias<Scalar>& d_line, const T5Buckets& config);

}  // namespace locus

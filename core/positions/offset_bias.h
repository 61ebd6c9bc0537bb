#pragma once
// A bias that depends on j - i alone: one number per offset and head stands for the whole matrix.  ALiBi computes the
// numbers (Press et al. 2022, section 3), T5 learns them by bucket (Raffel et al. 2020, section 2.1).
// core/attention/biased.h adds them to the scores and says where both are used.
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// Row i of the bias matrix is a window of `keys` numbers, which slides one place to the left per query.
template <class Scalar>
struct OffsetBias {
    Index queries = 0, keys = 0;
    Matrix<Scalar> values;  // [H, queries + keys - 1], offset j - i = -(queries - 1) first

    Index heads() const { return values.rows(); }
    /// The bias that query i of head h adds to its score of key j.
    Scalar at(Index h, Index i, Index j) const { return values(h, queries - 1 + j - i); }
    /// [queries,keys] of one head, for people and for adding up.
    Matrix<Scalar> matrix(Index h) const {
        LOCUS_CHECK(h >= 0 && h < heads(),
                    "offset bias: head " + std::to_string(h) + ", expected 0 to " + std::to_string(heads() - 1));
        Matrix<Scalar> bias(queries, keys);
        for (Index i = 0; i < queries; ++i) bias.row(i) = values.row(h).segment(queries - 1 - i, keys);
        return bias;
    }
};

/// The numbers value(h, j - i).  Throws Error(usage) naming `who` unless there are heads, queries and keys.
template <class Scalar, class Value>
OffsetBias<Scalar> make_offset_bias(const char* who, Index heads, Index queries, Index keys, Value value) {
    LOCUS_CHECK(heads >= 1 && queries >= 1 && keys >= 1,
                std::string(who) + ": " + std::to_string(heads) + " heads, " + std::to_string(queries) +
                    " queries and " + std::to_string(keys) + " keys, expected 1 or more of each");
    OffsetBias<Scalar> bias{queries, keys, Matrix<Scalar>(heads, queries + keys - 1)};
    for (Index h = 0; h < heads; ++h)
        for (Index n = 0; n < queries + keys - 1; ++n) bias.values(h, n) = value(h, n - (queries - 1));
    return bias;
}

/// Backward: every pair of one offset read the same number, so its gradient is the sum over the diagonal j - i = o.
/// d_bias [queries,keys] of one head -> [queries + keys - 1], offset -(queries - 1) first.
template <class Scalar>
RowVector<Scalar> sum_over_offsets(const ConstView<Scalar>& d_bias) {
    RowVector<Scalar> sums = RowVector<Scalar>::Zero(d_bias.rows() + d_bias.cols() - 1);
    for (Index i = 0; i < d_bias.rows(); ++i) sums.segment(d_bias.rows() - 1 - i, d_bias.cols()) += d_bias.row(i);
    return sums;
}

// ALiBi: the score of a key falls in proportion to its distance, in every head with another slope; nothing is learned.
// Source: ofirpress/attention_with_linear_biases get_slopes.

/// What keys after the query get.
enum class AlibiForm {
    causal,     // m (j - i) for j <= i, as published; later keys get 0, the causal mask hides them
    symmetric,  // -m |i - j|: encoders
};

/// One slope per head.  A power of two: m_h = 2^(-8 (h + 1) / H), a geometric series.  Any other H: the slopes of the
/// nearest lower power of two, then every second one of the doubled series until there are H.
/// Throws Error(usage) for fewer than one head.
std::vector<double> alibi_slopes(Index heads);

/// The bias of every head.  Throws Error(usage) unless there are heads, queries and keys.
template <class Scalar>
OffsetBias<Scalar> alibi_bias(Index heads, Index queries, Index keys, AlibiForm form);

// T5's relative buckets: small distances each have their own, larger ones share logarithmically growing ones.
// Source: transformers modeling_t5.py _relative_position_bucket.
// Unlike DeBERTa's log buckets the offset is j - i, the logarithm is cut down (floor, not ceil), and a bucket holds one
// number per head, not a vector.

struct T5Buckets {
    Index buckets = 32;
    Index max_distance = 128;   // from here on everything shares the last bucket
    bool bidirectional = true;  // true: the upper half of the buckets is for keys after the query; false: decoder
};

/// Bucket of an offset j - i.  Per direction n buckets (half of all if bidirectional), m = n / 2 of them exact:
/// distance < m -> itself, else min(m + floor(ln(distance / m) / ln(max_distance / m) * (n - m)), n - 1).
/// A decoder puts every later key, which its mask hides, into bucket 0.
/// Throws Error(usage) unless buckets is even and leaves m >= 1 per direction, and max_distance > m.
Index t5_bucket(std::int64_t offset, const T5Buckets& config);

/// The matrix of buckets for all pairs -> [queries,keys].  Throws as t5_bucket, and if queries or keys is below 1.
IndexTensor t5_index(Index queries, Index keys, const T5Buckets& config);

/// b[h, bucket(j - i)]: table [buckets,H], the layout of relative_attention_bias.weight.
/// Throws Error(usage) if the table does not have one row per bucket.
template <class Scalar>
OffsetBias<Scalar> t5_bias(const ConstView<Scalar>& table, Index queries, Index keys, const T5Buckets& config);

/// Backward: d_table[bucket(o), h] = the sum of d_bias[h, o] over the offsets o of that bucket; a bucket that no offset
/// has gets exactly 0.  -> [buckets,H].  Throws Error(usage) if d_bias has another number of offsets.
template <class Scalar>
Matrix<Scalar> t5_bias_backward(const OffsetBias<Scalar>& d_bias, const T5Buckets& config);

}  // namespace locus

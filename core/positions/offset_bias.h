#pragma once
// A bias that depends on j - i alone: one number per offset and head stands for the whole matrix (T5, ALiBi).
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
                    "bias line: head " + std::to_string(h) + ", expected 0 to " + std::to_string(heads() - 1));
        Matrix<Scalar> bias(queries, keys);
        for (Index i = 0; i < queries; ++i) bias.row(i) = values.row(h).segment(queries - 1 - i, keys);
        return bias;
    }
};

/// Fills a line with value(h, j - i).  Throws Error(usage) naming `who` unless there are heads, queries and keys.
template <class Scalar, class Value>
OffsetBias<Scalar> make_bias_line(const char* who, Index heads, Index queries, Index keys, Value value) {
    LOCUS_CHECK(heads >= 1 && queries >= 1 && keys >= 1,
                std::string(who) + ": " + std::to_string(heads) + " heads, " + std::to_string(queries) +
                    " queries and " + std::to_string(keys) + " keys, expected 1 or more of each");
    OffsetBias<Scalar> line{queries, keys, Matrix<Scalar>(heads, queries + keys - 1)};
    for (Index h = 0; h < heads; ++h)
        for (Index n = 0; n < queries + keys - 1; ++n) line.values(h, n) = value(h, n - (queries - 1));
    return line;
}

}  // namespace locus

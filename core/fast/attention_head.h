#pragma once
// One head of disentangled attention for speed: the formulas of core/attention/disentangled.h and
// disentangled_backward.h in the wide registers of core/fast/simd_kernels.h.  The tests hold them together.
// core/fast/disentangled_blocks.h is faster for long rows but forgets the probabilities block by block; a training
// step has short sentences of uneven length, and its way back asks for the probabilities.
#include <vector>

#include "core/fast/simd_kernels.h"
#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// Rows of one sentence and head inside a larger matrix: `rows` of `width`, `stride` numbers apart.
template <class Number>
struct HeadRows {
    Number* data = nullptr;
    Index rows = 0, width = 0, stride = 0;
};

/// The two position tables of one head, turned once for all sentences.
template <class Scalar>
struct HeadTables {
    Matrix<Scalar> k_r, q_r;                // [2k,d]; empty: the term is off
    Matrix<Scalar> k_r_turned, q_r_turned;  // [d,2k], columns padded to a whole block
};
template <class Scalar>
HeadTables<Scalar> head_tables(const ConstView<Scalar>& k_r, const ConstView<Scalar>& q_r);

/// Memory of one thread, kept from call to call.
template <class Scalar>
struct HeadBuffers {
    Matrix<Scalar> turned, table, scores, dropped, scattered;
};

/// softmax((c2c + c2p + p2c) / divisor) over the keys that are seen -> probs [T,T]; a query that sees none gets zeros.
/// mask [T,T] or null: every key is seen.
template <class Scalar>
void head_probabilities(HeadRows<const Scalar> q, HeadRows<const Scalar> k, const HeadTables<Scalar>& tables,
                        const RelativeBuckets& line, const Matrix<std::uint8_t>* mask, Scalar divisor,
                        HeadBuffers<Scalar>& buffers, Matrix<Scalar>& probs);

/// context = probs v, written where it stands.
template <class Scalar>
void head_context(const Matrix<Scalar>& probs, HeadRows<const Scalar> v, HeadRows<Scalar> context);

/// What the way back of one sentence and head needs.
template <class Scalar>
struct HeadBackward {
    HeadRows<const Scalar> q, k, v, d_context;
    const Matrix<Scalar>& probs;    // [T,T], before dropout
    const Matrix<Scalar>* dropped;  // [T,T], behind it; null: no dropout
    const RelativeBuckets& line;
    Scalar divisor;
};

/// Writes d_q, d_k, d_v where they stand, adds to d_k_r and d_q_r [2k,d] inside larger matrices, and leaves the
/// gradient of the raw sum of terms in d_scores [T,T].
template <class Scalar>
void head_backward(const HeadBackward<Scalar>& head, const HeadTables<Scalar>& tables, HeadBuffers<Scalar>& buffers,
                   HeadRows<Scalar> d_q, HeadRows<Scalar> d_k, HeadRows<Scalar> d_v, HeadRows<Scalar> d_k_r,
                   HeadRows<Scalar> d_q_r, Matrix<Scalar>& d_scores);

}  // namespace locus

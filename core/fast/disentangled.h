#pragma once
// Disentangled attention for speed: the scores, probabilities, context and gradients of core/attention/disentangled.h.
// Nothing here can be looked at term by term; the reference can, and the tests compare the two cell by cell.
//
// There are two ways to the scores, and everything else (operands, products, transposes, softmax) is shared:
//   by offset  disentangled_blocks: 64 x 64 scores at a time, all three terms in one sweep, with tables laid out along
//              i - j.  Best for long rows; probabilities need not be kept.  What core/models/fast_encoder.h runs.
//   by bucket  head_probabilities: one head of one sentence, from the tables of the products q k_r^T and k q_r^T.
//              Best for short sentences of uneven length; keeps the probabilities, which the backward pass asks for.
//              What training runs.
#include <vector>

#include "core/attention/disentangled.h"
#include "core/fast/aligned_rows.h"
#include "core/fast/simd_kernels.h"
#include "core/fast/thread_pool.h"
#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// Rows of one sample and head inside a larger matrix: `rows` of `width`, `stride` numbers apart.
template <class Number>
struct HeadRows {
    Number* data = nullptr;
    Index rows = 0, width = 0, stride = 0;
};

/// All heads of one operand where they lie: value (b,h,t,c) at data[b * sample + h * head + t * row + c].
template <class Scalar>
struct HeadsAt {
    const Scalar* data = nullptr;
    Index sample = 0, head = 0, row = 0;

    /// [B,H,T,d]
    static HeadsAt of(const Tensor<Scalar>& split) {
        return {split.data(), split.extent(1) * split.extent(2) * split.extent(3), split.extent(2) * split.extent(3),
                split.extent(3)};
    }
    const Scalar* at(Index b, Index h) const { return data + b * sample + h * head; }
};

// By offset.

/// Both relative tables laid out along the offsets of the buckets: column x serves i - j = first - x, so keys
/// lie side by side.  Offsets of `low` and less share one row of each table, those of `high` and more another; the
/// tables reach as far beyond as a block of queries can.  They depend on weights and lengths alone: make once, use for
/// every text.
template <class Scalar>
struct OffsetTables {
    Index queries = 0, keys = 0, heads = 0, width = 0;
    Index low = 0, high = 0, first = 0;
    Index stride = 0;                // from channel to channel
    AlignedVector<Scalar> k_r, q_r;  // [H,d,stride]; zeros where the term is absent
    std::vector<Scalar> k_r_ends;    // [H,d,2]: the rows of `low` and of `high`
    std::vector<Scalar> q_r_ends;    // [H,2,d]

    /// Where i - j = 0 lies in the channel 0 of a head.
    Index origin(Index h) const { return h * width * stride + first; }
};

/// k_r, q_r [H,2k,d], empty where the model lacks c2p or p2c; buckets of Tq x Tk pairs, Tq = Tk for P2cIndex::paper_ji.
/// `spent` gives its memory, whatever is in it.  Throws Error(usage) if both are empty or the shapes do not fit.
template <class Scalar>
OffsetTables<Scalar> offset_tables(const Tensor<Scalar>& k_r, const Tensor<Scalar>& q_r, const RelativeBuckets& buckets,
                                   P2cIndex index, ThreadPool& pool, OffsetTables<Scalar> spent = {},
                                   const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

/// What one call works on.
template <class Scalar>
struct DisentangledBlocks {
    HeadsAt<Scalar> q, k, v;  // [B,H,Tq,d], [B,H,Tk,d], [B,H,Tk,d] of the tables' H, Tq, Tk and d
    Index batch = 1;
    const OffsetTables<Scalar>& tables;
    Scalar divisor;                  // sqrt(n d)
    const std::vector<Mask>* masks;  // per sample [Tq,Tk] or empty; null: everything is visible
    MaskedRow masked_row = MaskedRow::zero;
    /// Queries and keys of each sample, where they differ: at most the tables'.  Rows of all samples then lie one after
    /// the other, without padding, and HeadsAt::sample is not read.  Null: every sample has the tables' numbers.
    const std::vector<Index>* lengths = nullptr;
};

/// Memory a caller may keep from call to call; sizes itself.
template <class Scalar>
struct BlockBuffers {
    AlignedVector<Scalar> k, p2c_ends;  // per sample [H,Tk / 64,d,64], [H,2,Tk], padded
    AlignedVector<Scalar> v;            // per sample [H,d / columns,Tk,columns]: panels of the kernels' columns
    std::vector<AlignedVector<Scalar>> members;  // per thread: one block of queries and of scores
};

/// context (b,h,i) = sum over j of probs(b,h,i,j) v(b,h,j), written at context.at(b,h) + i * context.row; also
/// probs [B,H,Tq,Tk] unless null, which it must be with lengths.  The same bits for every number of threads, and with
/// lengths those of every sample alone.
/// Throws Error(usage) for masks or lengths that do not fit.
template <class Scalar>
void disentangled_blocks(const DisentangledBlocks<Scalar>& task, Scalar* context, const HeadsAt<Scalar>& context_at,
                         Tensor<Scalar>* probs, BlockBuffers<Scalar>& buffers, ThreadPool& pool,
                         const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

// By bucket.

/// The two position tables of one head, transposed once for all sentences.
template <class Scalar>
struct HeadTables {
    Matrix<Scalar> k_r, q_r;                        // [2k,d]; empty: the term is off
    Matrix<Scalar> k_r_by_channel, q_r_by_channel;  // [d,2k], padded to a whole block; k_r in reverse order of rows
};
template <class Scalar>
HeadTables<Scalar> head_tables(const ConstView<Scalar>& k_r, const ConstView<Scalar>& q_r);

/// Memory of one thread, kept from call to call.
template <class Scalar>
struct HeadBuffers {
    Matrix<Scalar> by_channel, table, scores, dropped;
};

/// softmax((c2c + c2p + p2c) / divisor) over the keys that are seen -> probs [T,T]; a query that sees none gets zeros.
/// mask [T,T] or null: every key is seen.
template <class Scalar>
void head_probabilities(HeadRows<const Scalar> q, HeadRows<const Scalar> k, const HeadTables<Scalar>& tables,
                        const RelativeBuckets& buckets, const Mask* mask, Scalar divisor, HeadBuffers<Scalar>& buffers,
                        Matrix<Scalar>& probs);

/// context = probs v, written where it stands.
template <class Scalar>
void head_context(const Matrix<Scalar>& probs, HeadRows<const Scalar> v, HeadRows<Scalar> context);

/// What the backward pass of one sentence and head needs.
template <class Scalar>
struct HeadBackward {
    HeadRows<const Scalar> q, k, v, d_context;
    const Matrix<Scalar>& probs;    // [T,T], before dropout
    const Matrix<Scalar>* dropped;  // [T,T], after it; null: no dropout
    const RelativeBuckets& buckets;
    Scalar divisor;
};

/// Writes d_q, d_k, d_v where they stand, adds to d_k_r and d_q_r [2k,d] inside larger matrices, and leaves the
/// gradient of the raw sum of terms in d_scores [T,T].
template <class Scalar>
void head_backward(const HeadBackward<Scalar>& head, const HeadTables<Scalar>& tables, HeadBuffers<Scalar>& buffers,
                   HeadRows<Scalar> d_q, HeadRows<Scalar> d_k, HeadRows<Scalar> d_v, HeadRows<Scalar> d_k_r,
                   HeadRows<Scalar> d_q_r, Matrix<Scalar>& d_scores);

}  // namespace locus

#pragma once
// Attention whose only position term is a number added to each score (T5, ALiBi): forward and backward.
// Raffel et al. 2020, section 2.1; Press et al. 2022, section 3.  core/positions/offset_bias.h makes the numbers.
// No model in core/models adds one.  tests/golden/test_oracle_older.cpp compares it with tensors of transformers, and
// cuda/reference has the same functions; core/positions/fire.h makes another such number.  Lessons 11 (p2p as such a
// bias) and 27 (the price of T5 and ALiBi) look at the numbers alone.
#include "core/attention/softmax.h"
#include "core/positions/offset_bias.h"
#include "core/tensor.h"

namespace locus {

/// What becomes of q . k before the bias is added; the bias itself is never scaled.
enum class ContentScale {
    none,          // T5: its initial weights are small instead
    inverse_root,  // 1 / sqrt(d): ALiBi, and everybody else
};

template <class Scalar>
struct BiasedTerms {
    Matrix<Scalar> content;  // q_i . k_j, raw; [Tq,Tk]
    Matrix<Scalar> bias;     // what was added; [Tq,Tk]
    Matrix<Scalar> scores;   // content (scaled or not) + bias, before the mask
    Matrix<Scalar> probs;    // masked cells exactly 0
    Matrix<Scalar> context;  // [Tq,d_v]
};

/// One head: scores = q k^T scale + bias.  q [Tq,d], k [Tk,d], v [Tk,d_v], bias [Tq,Tk], mask [Tq,Tk] or empty.
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
BiasedTerms<Scalar> biased_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                     const ConstView<Scalar>& bias, ContentScale scale, const Mask& mask);

/// The same with the bias of head `head`, which depends on j - i alone.
/// Throws Error(usage) also if the bias is not one for Tq x Tk pairs or has no such head.
template <class Scalar>
BiasedTerms<Scalar> biased_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                     const OffsetBias<Scalar>& bias, Index head, ContentScale scale, const Mask& mask);

// Backward

template <class Scalar>
struct BiasedGradients {
    Matrix<Scalar> q, k, v;  // [Tq,d], [Tk,d], [Tk,d_v]
    Matrix<Scalar> bias;     // [Tq,Tk]; sum_over_offsets makes it the gradient of an OffsetBias
};

/// scores_ij = (q_i . k_j) scale + bias_ij, scale 1 or 1 / sqrt(d), so q and k get what dot_product_backward says and
/// d_bias = d_scores.
/// probs [Tq,Tk] as the softmax returned them; keep [Tq,Tk]: mask of the dropout, or empty; d_context [Tq,d_v].
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
BiasedGradients<Scalar> biased_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const ConstView<Scalar>& v, ContentScale scale, const ConstView<Scalar>& probs,
                                        const ConstView<Scalar>& keep, const ConstView<Scalar>& d_context);

}  // namespace locus

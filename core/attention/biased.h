#pragma once
// Attention whose only position term is a number added to each score: T5 and ALiBi.
// Raffel et al. 2020, section 2.1; Press et al. 2022, section 3.
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
    Matrix<Scalar> bias;     // the line, laid out; [Tq,Tk]
    Matrix<Scalar> scores;   // content (scaled or not) + bias, before the mask
    Matrix<Scalar> probs;    // masked cells exactly 0
    Matrix<Scalar> context;  // [Tq,d]
};

/// Head `head` of the line.  q [Tq,d], k and v [Tk,d], mask [Tq,Tk] or empty.
/// Throws Error(usage) if the line is not for Tq x Tk pairs, widths differ, or keys and values differ in number.
template <class Scalar>
BiasedTerms<Scalar> biased_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                     const OffsetBias<Scalar>& line, Index head, ContentScale scale, const Mask& mask);

}  // namespace locus

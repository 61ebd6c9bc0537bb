#pragma once
// Relative attention for all samples and heads of a layer: Transformer-XL, and each of the two streams of XLNet.
#include <functional>
#include <string>
#include <vector>

#include "core/models/operations.h"
#include "core/trace.h"

namespace locus {

template <class Scalar>
struct RelativeHeads {
    const Tensor<Scalar>& q;                            // [B,H,P,d]
    const Tensor<Scalar>&k, &v;                         // [B,H,K,d], memory first
    std::vector<const Tensor<Scalar>*> r_k;             // per sample, [H,R,d]: projected sinusoids
    const Matrix<Scalar>&content_bias, &position_bias;  // u and v of the papers, [H,d]
    Index first = 0;                                    // distance of row 0 of r_k
    Index memory = 0;                                   // M
    std::vector<std::vector<Index>> positions;  // per sample: token of each query; -1: not used, its row stays 0
    std::vector<Mask> masks;                    // per sample, [P,K], 1 = visible
    MaskedRow masked_row = MaskedRow::zero;
    /// Segment term of one sample and head [P,K]; none in Transformer-XL.
    std::function<Matrix<Scalar>(Index b, Index h)> segment_term;
};

/// softmax((ac + bd + ef) / sqrt(d)) v, heads joined -> [B,P,H*d].
/// Leaves prefix.q, .ac, .bd_raw, .bd (hidden cells 0), .ef, .scores, .probs and .context.
template <class Scalar>
Tensor<Scalar> relative_attention(const RelativeHeads<Scalar>& heads, const std::string& prefix, Trace& trace,
                                  const Operations<Scalar>& compute = cpu_operations<Scalar>());

/// r [R,D] through a projection without bias, heads split -> [H,R,d].
template <class Scalar>
Tensor<Scalar> project_positions(const Matrix<Scalar>& r, const Matrix<Scalar>& weight, Index heads,
                                 const Operations<Scalar>& compute = cpu_operations<Scalar>());

/// [B,M,D] and [B,T,D] one behind the other -> [B,M+T,D]; an empty memory gives the segment.
template <class Scalar>
Tensor<Scalar> behind_memory(const Tensor<Scalar>& memory, const Tensor<Scalar>& segment);

/// Rows begin ... end - 1 of every sample of [B,N,D].
template <class Scalar>
Tensor<Scalar> slice_rows(const Tensor<Scalar>& x, Index begin, Index end);

/// Throws Error(usage) unless there is one memory per layer, all [B,M,D] with the model's width; returns M (0: none).
Index check_memories(const std::vector<Tensor<double>>& memories, std::size_t count, Index batch, Index width);

}  // namespace locus

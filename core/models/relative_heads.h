#pragma once
// What Transformer-XL and XLNet share: relative attention for all samples and heads of a layer, and the memory that one
// segment of a long text gives to the next.  Dai et al. 2019; Yang et al. 2019.
#include <functional>
#include <string>
#include <vector>

#include "core/models/model_input.h"
#include "core/models/operations.h"
#include "core/trace.h"

namespace locus {

/// Operands of one layer (Transformer-XL), or of one of its two streams (XLNet).
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

/// softmax((ac + bd + ef) / sqrt(d)) v, heads joined -> [B,P,H*d]; empty where the trace was complete before.
/// Writes prefix.q, .ac, .bd_raw, .bd (hidden cells 0), .ef, .scores, .probs and .context.
template <class Scalar>
Tensor<Scalar> relative_attention(const RelativeHeads<Scalar>& heads, const std::string& prefix, Trace& trace,
                                  const Operations<Scalar>& compute = cpu_operations<Scalar>());

/// Rows of queries that are not used, positions[b][p] = -1, become 0.  stage [B,H,P,x], or empty.
template <class Scalar>
void clear_unused(const std::vector<std::vector<Index>>& positions, Tensor<Scalar>& stage);

/// r [R,D] through a projection without bias, heads split -> [H,R,d].
template <class Scalar>
Tensor<Scalar> project_positions(const Matrix<Scalar>& r, const Matrix<Scalar>& weight, Index heads,
                                 const Operations<Scalar>& compute = cpu_operations<Scalar>());

// --- segments and memory ---

/// What one segment gives to the next: the newest rows [B,M,D] of the input of every layer.  Transformer-XL adds the
/// model's last output, which nothing reads (the official code keeps it too).
template <class Scalar>
using SegmentMemory = std::vector<Tensor<Scalar>>;

/// "" for a single segment, "segment.1." for the second of several.
std::string segment_prefix(std::size_t segment, std::size_t count);

/// Throws Error(usage) unless there is a segment, all have as many samples, and the first segment's memories are one
/// per layer, [B,M,D] with the model's width, or none at all.
void check_segments(const std::vector<ModelInput>& segments, std::size_t layers, Index width);

/// What the first segment is given to remember, as Scalar: [B,M,D] per layer, or nothing.
template <class Scalar>
SegmentMemory<Scalar> first_memory(const ModelInput& input);

/// Rows M that a segment of this input remembers; 0 for an empty memory.
/// Throws Error(usage) if the memory has another number of samples.
template <class Scalar>
Index remembered_rows(const SegmentMemory<Scalar>& memory, const ModelInput& input);

/// [B,M,D] and [B,T,D], memory first -> [B,M+T,D]; an empty memory gives the segment.
template <class Scalar>
Tensor<Scalar> memory_and_segment(const Tensor<Scalar>& memory, const Tensor<Scalar>& segment);

/// Rows begin ... end - 1 of every sample of [B,N,D].
template <class Scalar>
Tensor<Scalar> slice_rows(const Tensor<Scalar>& x, Index begin, Index end);

}  // namespace locus

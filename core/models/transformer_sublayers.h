#pragma once
// The two kinds of sublayer that the original Transformer is stacked from; each ends in norm(x + sublayer(x)).
// Vaswani et al. 2017, sections 3.1 to 3.3.
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/models/layers.h"
#include "core/trace.h"

namespace locus {

/// Attention of queries over keys and values, from the same text or from another.  The paper has no biases; dense
/// layers without a bias are those whose bias is empty.
template <class Scalar>
struct MultiHeadWeights {
    Dense<Scalar> query, key, value, out;  // [D,D] each
    Norm<Scalar> norm;                     // [D]
};

template <class Scalar>
struct FeedForwardWeights {
    Dense<Scalar> up, down;  // [F,D], [D,F]
    Norm<Scalar> norm;       // [D]
};

template <class Scalar>
struct MultiHeadResult {
    Tensor<Scalar> q, k, v;        // [B,H,T,d]
    Tensor<Scalar> scores, probs;  // [B,H,Tq,Tk]: scaled and before the mask; masked cells exactly 0
    Tensor<Scalar> context;        // [B,Tq,D], heads joined
    Tensor<Scalar> output;         // [B,Tq,D]: norm(dense(context) + x)
};

template <class Scalar>
struct FeedForwardResult {
    Tensor<Scalar> act;     // [B,T,F]: relu(dense_1(x))
    Tensor<Scalar> ffn;     // [B,T,D]: dense_2(act)
    Tensor<Scalar> output;  // [B,T,D]: norm(ffn + x)
};

/// Queries from x [B,Tq,D], keys and values from memory [B,Tk,D]; one mask [Tq,Tk] per sample, empty ones show all.
template <class Scalar>
MultiHeadResult<Scalar> multi_head_attention(const Tensor<Scalar>& x, const Tensor<Scalar>& memory,
                                             const MultiHeadWeights<Scalar>& weights, Index heads,
                                             const std::vector<Mask>& masks, double eps);

/// x [B,T,D].  relu between the two dense layers.
template <class Scalar>
FeedForwardResult<Scalar> feed_forward(const Tensor<Scalar>& x, const FeedForwardWeights<Scalar>& weights, double eps);

/// Leaves prefix.q, .k, .v, .scores, .probs, .context and .attention.
template <class Scalar>
void keep_attention(const MultiHeadResult<Scalar>& result, const std::string& prefix, Trace& trace);

/// Leaves prefix.ffn_act, .ffn and .output.
template <class Scalar>
void keep_feed_forward(const FeedForwardResult<Scalar>& result, const std::string& prefix, Trace& trace);

}  // namespace locus

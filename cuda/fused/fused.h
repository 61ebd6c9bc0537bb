#pragma once
// Disentangled attention in one kernel: scores, softmax and context without a [B,H,Tq,Tk] tensor in global memory and
// without a table of position scores there.  On the CPU the same is the sum of the terms of
// core/attention/disentangled.h, divided, then masked_softmax, times v; the kernels are hopper_forward.h and
// fused_forward.h (tensor cores) and portable_forward.h (any width, float32).
#include <cstdint>
#include <vector>

#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus::cuda {

/// The numbers that are multiplied.  Sums, scores and softmax are float32 in each.
enum class FusedPrecision { f32, f16, bf16 };

/// Which kernels: the first in this order that serve, or some by name: warpgroup products and copy engine of compute
/// capability 9.0 (hopper_forward.h, hopper_backward.h), tensor cores of any device (fused_forward.h,
/// fused_backward.h), no tensor cores (portable_forward.h, portable_backward.h).
enum class FusedPath { fastest, hopper, tensor_cores, portable };

/// Host tensors; float32 here, rounded to the precision during the copy.
struct FusedInput {
    Tensor<float> q, k, v;              // [B,H,Tq,d], [B,H,Tk,d], [B,H,Tk,d]; packed: [1,H,tokens,d]
    Tensor<float> k_r, q_r;             // [H,2k,d]; empty: the term is off
    std::vector<Index> lengths;         // packed: tokens of each sample, queries and keys alike; empty: padded
    Matrix<std::uint8_t> visible_keys;  // [B,Tk], 0: hidden; empty: all are visible.  Not with packed samples
    float scale = 1;                    // 1 / sqrt(n d)
    float dropout = 0;                  // share of probabilities that are dropped, below 1
    std::uint64_t seed = 0;
};

struct FusedOutput {
    Tensor<float> context;  // as q
    Tensor<float> log_sum;  // [B,H,Tq]: log of the softmax denominator; +inf where a query sees no key
};

/// context = dropout(softmax(scale (q k^T + q k_r[delta] + k q_r[delta]))) v; rows without a visible key are zeros.
/// buckets: of the longest sample's Tq x Tk pairs, and never falling.
/// Throws Error(usage) that names what does not fit, Error(unsupported) in one sentence where there is no device, it
/// has too little memory, the width is no multiple of 8 up to 256, or the named kernel does not serve.
FusedOutput fused_attention(const FusedInput& input, const RelativeBuckets& buckets, FusedPrecision precision,
                            FusedPath path = FusedPath::fastest);

struct FusedGradients {
    Tensor<float> q, k, v;   // each as its input
    Tensor<float> k_r, q_r;  // summed over samples; rows that no pair addresses are exactly 0; empty: the term is off
};

/// From the gradient of the context, shaped like it, to those of everything it was made of: the CPU computes the same
/// in core/attention/disentangled.h.  Dropout drops what it dropped in forward.  No atomics: the same bits on
/// every run.   output: what fused_attention gave for the same input, buckets and precision.
/// Throws as fused_attention does.
FusedGradients fused_attention_backward(const FusedInput& input, const FusedOutput& output,
                                        const Tensor<float>& d_context, const RelativeBuckets& buckets,
                                        FusedPrecision precision, FusedPath path = FusedPath::fastest);

}  // namespace locus::cuda

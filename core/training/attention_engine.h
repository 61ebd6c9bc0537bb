#pragma once
// The interface by which a training step has its attention computed by another backend, on a GPU
// (cuda/library.h).  A file of its own, so that the backend includes no training.
#include <cstdint>
#include <vector>

#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// One layer's operands for all sentences, one after the other; N tokens.
struct PackedHeads {
    Tensor<float> q, k, v;       // [1,H,N,d]
    Tensor<float> k_r, q_r;      // [H,2k,d]; empty: the term is off
    std::vector<Index> lengths;  // [B], their sum is N
    float scale = 1;             // 1 / sqrt(n d)
    float dropout = 0;           // of the probabilities
    std::uint64_t seed = 0;      // drops what core/training/random.h drops: part b H + h, row i, column j
};

struct PackedContext {
    Tensor<float> context;  // [1,H,N,d]
    Tensor<float> log_sum;  // [B,H,tokens of the longest sentence], of the softmax denominator
};

/// Each as its operand; those of the tables summed over sentences.
struct PackedGradients {
    Tensor<float> q, k, v, k_r, q_r;
};

class AttentionEngine {
public:
    virtual ~AttentionEngine() = default;
    /// dropout(softmax(scale (c2c + c2p + p2c))) v within each sentence.  buckets: of the longest one.
    virtual PackedContext forward(const PackedHeads& heads, const RelativeBuckets& buckets) = 0;
    /// output: what forward gave for the same heads and buckets.
    virtual PackedGradients backward(const PackedHeads& heads, const PackedContext& output,
                                     const Tensor<float>& d_context, const RelativeBuckets& buckets) = 0;
};

}  // namespace locus

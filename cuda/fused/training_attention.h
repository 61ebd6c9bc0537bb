#pragma once
// Attention of a training step by the fused kernels.  The CPU twin is core/fast/disentangled.h.
#include "core/training/attention_engine.h"
#include "cuda/fused/fused.h"

namespace locus::cuda {

/// Float32 in and out; throws what fused_attention throws, Error(unsupported) without a device among them.
class TrainingAttention : public AttentionEngine {
public:
    PackedContext forward(const PackedHeads& heads, const RelativeBuckets& line) override {
        FusedOutput output = fused_attention(input_of(heads), line, FusedPrecision::f32);
        return {std::move(output.context), std::move(output.log_sum)};
    }
    PackedGradients backward(const PackedHeads& heads, const PackedContext& output, const Tensor<float>& d_context,
                             const RelativeBuckets& line) override {
        FusedGradients gradients = fused_attention_backward(input_of(heads), {output.context, output.log_sum},
                                                            d_context, line, FusedPrecision::f32);
        return {std::move(gradients.q), std::move(gradients.k), std::move(gradients.v), std::move(gradients.k_r),
                std::move(gradients.q_r)};
    }

private:
    static FusedInput input_of(const PackedHeads& heads) {
        FusedInput input;
        input.q = heads.q;
        input.k = heads.k;
        input.v = heads.v;
        input.k_r = heads.k_r;
        input.q_r = heads.q_r;
        input.lengths = heads.lengths;
        input.scale = heads.scale;
        input.dropout = heads.dropout;
        input.seed = heads.seed;
        return input;
    }
};

}  // namespace locus::cuda

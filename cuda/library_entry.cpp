// The implementation of cuda/library.h: liblocus_cuda.so.
#include "cuda/fused/fused.h"
#include "cuda/library.h"
#include "cuda/reference/operations.h"
#include "cuda/runtime.h"

namespace locus::cuda {

namespace {

/// The two passes of a training step through fused_attention and its backward pass; the CPU computes the same in
/// core/fast/attention_head.h.  Throws what those throw.
class TrainingAttention final : public AttentionEngine {
public:
    PackedContext forward(const PackedHeads& heads, const RelativeBuckets& buckets) override {
        FusedOutput output = fused_attention(input_of(heads), buckets, FusedPrecision::f32);
        return {std::move(output.context), std::move(output.log_sum)};
    }
    PackedGradients backward(const PackedHeads& heads, const PackedContext& output, const Tensor<float>& d_context,
                             const RelativeBuckets& buckets) override {
        FusedGradients gradients = fused_attention_backward(input_of(heads), {output.context, output.log_sum},
                                                            d_context, buckets, FusedPrecision::f32);
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

class DeviceLibrary final : public Library {
public:
    std::string device_name() const override { return cuda::device_name(); }
    std::string why_unavailable() const override { return cuda::why_unavailable(); }
    const Operations<float>& operations_f32() const override { return device_operations<float>(); }
    const Operations<double>& operations_f64() const override { return device_operations<double>(); }
    std::unique_ptr<AttentionEngine> training_attention() const override {
        return std::make_unique<TrainingAttention>();
    }
};

}  // namespace

}  // namespace locus::cuda

/// Which declarations this library was built from; cuda/CMakeLists.txt makes the word, the program compares it.
extern "C" const char* locus_cuda_interface() { return LOCUS_CUDA_INTERFACE; }

extern "C" const locus::cuda::Library* locus_cuda_library() {
    static const locus::cuda::DeviceLibrary library;
    return &library;
}

#pragma once
// One attention problem that stays on the device: its kernels are timed call by call, in turn with other programs'.
#include <memory>
#include <string>

#include "cuda/fused/fused.h"

namespace locus::cuda {

class TimedProblem {
public:
    /// Uploads.   d_context: shaped like q, or empty where only forward is wanted.  Throws as fused_attention does.
    TimedProblem(const FusedInput& input, const RelativeBuckets& line, FusedPrecision precision,
                 const Tensor<float>& d_context);
    ~TimedProblem();
    TimedProblem(const TimedProblem&) = delete;
    TimedProblem& operator=(const TimedProblem&) = delete;

    /// Milliseconds of one launch, between two events.
    double forward();
    /// Milliseconds of all kernels of the backward pass, of what the last forward left behind.
    double backward();

    Tensor<float> context() const;       // as FusedOutput's
    FusedGradients gradients() const;    // of the last backward
    std::string forward_choice() const;  // "tensor cores, tile 128 x 64"
    std::string backward_choice() const;

    /// What each number format has of its own.
    struct OnDevice;

private:
    std::unique_ptr<OnDevice> device_;
};

}  // namespace locus::cuda

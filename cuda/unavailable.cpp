// The same functions in a build without CUDA: each says so.  The twins of the terms are in unavailable_twins.cpp.
#include "cuda/fused.h"
#include "cuda/fused_timing.h"
#include "cuda/ladder/rungs.h"
#include "cuda/runtime.h"

namespace locus::cuda {

namespace {

[[noreturn]] void refuse() {
    throw Error(Fault::unsupported,
                "CUDA: this program was built without it; the CPU computes the same with --device cpu");
}

}  // namespace

bool available() { return false; }
std::string why_unavailable() { return "no CUDA device (built without CUDA)"; }
std::string device_name() { return ""; }

TimedKernel time_fused_forward(const TimedShape&, FusedPrecision, int) { refuse(); }
TimedKernel time_fused_backward(const TimedShape&, FusedPrecision, int) { refuse(); }
double device_bandwidth() { refuse(); }
Tensor<float> climb(Rung, const FusedInput&, const BucketLine&) { refuse(); }
double time_rung(Rung, const FusedInput&, const BucketLine&, int) { refuse(); }
FusedOutput fused_attention(const FusedInput&, const BucketLine&, FusedPrecision) { refuse(); }
FusedGradients fused_attention_backward(const FusedInput&, const FusedOutput&, const Tensor<float>&, const BucketLine&,
                                        FusedPrecision) {
    refuse();
}

}  // namespace locus::cuda

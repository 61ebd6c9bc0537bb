// The same functions in a build without CUDA: each says so.  The twins of the terms are in unavailable_twins.cpp.
#include "cuda/fused.h"
#include "cuda/fused_timing.h"
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
double device_bandwidth() { refuse(); }
FusedOutput fused_attention(const FusedInput&, const BucketLine&, FusedPrecision) { refuse(); }

}  // namespace locus::cuda

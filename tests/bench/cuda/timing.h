#pragma once
// How long the fused kernels take on this device.
#include <memory>
#include <string>

#include "cuda/fused/fused.h"
#include "tests/bench/cuda/roofline.h"

namespace locus::cuda {

/// A shape to time; scores of DeBERTa with both terms, queries = keys.
struct TimedShape {
    int batch = 1, heads = 12, tokens = 512, width = 64;
    int buckets = 256, max_position = 512;  // max_position 0: clamped offsets with `buckets` as the span
};

struct TimedKernel {
    double milliseconds = 0;  // median of the rounds, one launch each, between two events
    double fastest = 0, slowest = 0;
    double in_a_graph = 0;        // median of replays of one captured launch: without what the host does for it
    std::string choice;           // "tensor cores, tile 128 x 64"
    std::size_t extra_bytes = 0;  // device memory beyond inputs, outputs and the rows by offset
};

/// Random inputs on the device, some rounds to warm up, then so many measured ones.
/// Throws Error(unsupported) in one sentence where there is no device, too little memory, or the named kernel does not
/// serve.
TimedKernel time_fused_forward(const TimedShape& shape, FusedPrecision precision, int rounds = 30,
                               FusedPath path = FusedPath::fastest);

/// The same for all kernels of the backward pass together; extra_bytes counts what lies between them.
TimedKernel time_fused_backward(const TimedShape& shape, FusedPrecision precision, int rounds = 30,
                                FusedPath path = FusedPath::fastest);

/// What this device says of itself.
DeviceAttributes device_attributes();

/// Whether it still answers this process, which it does not after a kernel that failed.
bool device_works();

/// Bytes per second of a copy inside device memory, both ways counted: a ceiling measured in the same run.
double device_bandwidth();

// One attention problem that stays on the device: its kernels are timed call by call, in turn with other programs'.

class TimedProblem {
public:
    /// Uploads.   d_context: shaped like q, or empty where only forward is wanted.  Throws as fused_attention does.
    TimedProblem(const FusedInput& input, const RelativeBuckets& buckets, FusedPrecision precision,
                 const Tensor<float>& d_context);
    ~TimedProblem();
    TimedProblem(const TimedProblem&) = delete;
    TimedProblem& operator=(const TimedProblem&) = delete;

    /// Milliseconds of one launch through a captured graph, between two events.
    double forward();
    /// Milliseconds of all kernels of the backward pass, likewise, of what the last forward left behind.
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

#pragma once
// What every .cu file needs: checked calls, memory that frees itself, limits of the device, and times as the device
// counts them.
#include <cuda_runtime.h>
#include <algorithm>
#include <string>
#include <vector>

#include "core/check.h"
#include "cuda/fused/layout.h"

namespace locus::cuda {

/// One sentence for a failed call.
inline void check_call(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // so that a failure that is caught does not stick to a later call
    throw Error(Fault::unsupported, std::string("CUDA: ") + call + " failed: " + cudaGetErrorString(status) +
                                        "; the CPU computes the same with --device cpu");
}

/// An array on the device.
template <class Value>
class DeviceBuffer {
public:
    explicit DeviceBuffer(std::size_t count) : count_(count) {
        check_call(cudaMalloc(&data_, (count > 0 ? count : 1) * sizeof(Value)), "cudaMalloc");
    }
    DeviceBuffer(const Value* host, std::size_t count) : DeviceBuffer(count) {
        check_call(cudaMemcpy(data_, host, count * sizeof(Value), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    }
    ~DeviceBuffer() { cudaFree(data_); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    Value* data() { return data_; }
    const Value* data() const { return data_; }
    void copy_to(Value* host) const {
        check_call(cudaMemcpy(host, data_, count_ * sizeof(Value), cudaMemcpyDeviceToHost), "cudaMemcpy to the host");
    }

private:
    Value* data_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace locus::cuda

/// Runs a CUDA runtime call and throws Error(unsupported) in one sentence if it fails.
#define LOCUS_CUDA_CHECK(call) ::locus::cuda::check_call((call), #call)

namespace locus::cuda {

/// Of shared memory, that one block can have on this device.
inline int most_shared_bytes() {
    int device = 0, bytes = 0;
    LOCUS_CUDA_CHECK(cudaGetDevice(&device));
    LOCUS_CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return bytes;
}

/// True on compute capability 9.0, whose own instructions no other device knows.
inline bool is_hopper() {
    int device = 0, major = 0, minor = 0;
    LOCUS_CUDA_CHECK(cudaGetDevice(&device));
    LOCUS_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    LOCUS_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    return major == 9 && minor == 0;
}

inline void check_width(int width) {
    if (width < 8 || width > 256 || width % 8 != 0)
        throw Error(Fault::unsupported, "CUDA: the fused kernels have no head width " + std::to_string(width) +
                                            ", expected a multiple of 8 up to 256; the CPU computes the same with "
                                            "--device cpu");
}

/// Throws Error(unsupported) if a block of this device cannot have so much.
template <class Run>
void allow_shared_bytes(Run run, int bytes) {
    if (bytes > most_shared_bytes())
        throw Error(Fault::unsupported, "CUDA: the fused kernels need " + std::to_string(bytes) +
                                            " bytes of shared memory for heads of this width, and a block of this "
                                            "device has at most " +
                                            std::to_string(most_shared_bytes()) +
                                            "; the CPU computes the same with --device cpu");
    LOCUS_CUDA_CHECK(cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// As place_of_block reads it.  Throws Error(unsupported) for more blocks than a launch can have.
inline dim3 grid(int tokens, int tile, int heads, int batch) {
    const long long blocks = static_cast<long long>(tiles_of(tokens, tile)) * batch;
    if (blocks > 2147483647 || heads > 65535)
        throw Error(Fault::unsupported, "CUDA: " + std::to_string(batch) + " samples of " + std::to_string(tokens) +
                                            " tokens and " + std::to_string(heads) +
                                            " heads are more blocks than one launch can have");
    return {static_cast<unsigned>(blocks), static_cast<unsigned>(heads), 1};
}

/// A moment on a stream.
class Event {
public:
    Event() { LOCUS_CUDA_CHECK(cudaEventCreate(&event_)); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record(cudaStream_t stream = nullptr) { LOCUS_CUDA_CHECK(cudaEventRecord(event_, stream)); }
    /// Milliseconds; waits until the device has come here.
    float since(const Event& start) {
        float milliseconds = 0;
        LOCUS_CUDA_CHECK(cudaEventSynchronize(event_));
        LOCUS_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.event_, event_));
        return milliseconds;
    }

private:
    cudaEvent_t event_ = nullptr;
};

/// Milliseconds of every round on the stream, in rising order.
template <class Work>
std::vector<double> times_of(int rounds, Work work, cudaStream_t stream = nullptr) {
    std::vector<double> times;
    Event start, end;
    for (int round = 0; round < rounds; ++round) {
        start.record(stream);
        work();
        end.record(stream);
        times.push_back(end.since(start));
    }
    std::sort(times.begin(), times.end());
    return times;
}

template <class Work>
double median_milliseconds(int rounds, Work work) {
    const std::vector<double> times = times_of(rounds, work);
    return times[times.size() / 2];
}

}  // namespace locus::cuda

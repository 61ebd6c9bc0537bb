#pragma once
// The device as a backend (cuda/reference/backend.h).  For .cu files only.
#include <cstring>

#include "cuda/device.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

inline constexpr int kThreads = 256;

/// Blocks of kThreads threads for so many elements.
inline unsigned blocks_for(long long count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

/// One thread an element, one element a thread.
template <class Kernel>
__global__ void parallel_for_kernel(long long count, Kernel kernel) {
    const long long n = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (n < count) kernel(n);
}

/// Values between two guards of 0xFF bytes, NaN to every kernel: what reads beyond an end shows in its result, what
/// writes beyond it is found when the values come back.
template <class Value>
class GuardedBuffer {
public:
    using Scalar = Value;
    explicit GuardedBuffer(std::size_t count) : count_(count), all_(count + 2 * kGuard) {
        LOCUS_CUDA_CHECK(cudaMemset(all_.data(), 0xFF, (count_ + 2 * kGuard) * sizeof(Value)));
    }
    GuardedBuffer(const Value* host, std::size_t count) : GuardedBuffer(count) {
        if (count > 0) LOCUS_CUDA_CHECK(cudaMemcpy(data(), host, count * sizeof(Value), cudaMemcpyHostToDevice));
    }
    Value* data() { return all_.data() + kGuard; }
    const Value* data() const { return all_.data() + kGuard; }
    void copy_to(Value* host) const {
        if (count_ > 0) LOCUS_CUDA_CHECK(cudaMemcpy(host, data(), count_ * sizeof(Value), cudaMemcpyDeviceToHost));
        check_guard(all_.data());
        check_guard(data() + count_);
    }

private:
    static constexpr std::size_t kGuard = 64;  // values, so that what lies after stays aligned

    static void check_guard(const Value* guard) {
        unsigned char found[kGuard * sizeof(Value)], expected[sizeof found];
        LOCUS_CUDA_CHECK(cudaMemcpy(found, guard, sizeof found, cudaMemcpyDeviceToHost));
        std::memset(expected, 0xFF, sizeof expected);
        if (std::memcmp(found, expected, sizeof found) != 0)
            throw Error(Fault::unsupported,
                        "CUDA: a kernel wrote beyond its result; the CPU computes the same with "
                        "--device cpu");
    }

    std::size_t count_;
    DeviceBuffer<Value> all_;
};

class DeviceBackend {
public:
    template <class Value>
    GuardedBuffer<Value> upload(const Value* host, std::size_t count) const {
        return {host, count};
    }
    template <class Value>
    GuardedBuffer<Value> allocate(std::size_t count) const {
        return GuardedBuffer<Value>(count);
    }
    template <class Kernel>
    void parallel_for(long long count, const Kernel& kernel) const {
        if (count == 0) return;
        parallel_for_kernel<<<blocks_for(count), kThreads>>>(count, kernel);
        LOCUS_CUDA_CHECK(cudaGetLastError());
    }
    /// Waits for the kernels first.
    template <class Value>
    void download(const GuardedBuffer<Value>& buffer, Value* host) const {
        LOCUS_CUDA_CHECK(cudaDeviceSynchronize());
        buffer.copy_to(host);
    }
};

}  // namespace locus::cuda

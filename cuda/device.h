#pragma once
// What every .cu file needs: checked calls and memory that frees itself.
#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "core/check.h"

namespace locus::cuda {

/// One sentence for a failed call.
inline void check_call(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
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

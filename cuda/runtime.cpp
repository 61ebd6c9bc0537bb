#include "cuda/runtime.h"

#include "cuda/device.h"

namespace locus::cuda {

namespace {

/// Devices that answer, and why there are none.
int count_devices(cudaError_t& status) {
    int count = 0;
    status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) {
        cudaGetLastError();  // so that the failure does not stick to a later call
        return 0;
    }
    return count;
}

}  // namespace

bool available() {
    cudaError_t status;
    return count_devices(status) > 0;
}

std::string why_unavailable() {
    cudaError_t status;
    if (count_devices(status) > 0) return "";
    return std::string("no CUDA device (") + (status == cudaSuccess ? "none found" : cudaGetErrorString(status)) + ")";
}

std::string device_name() {
    if (!available()) return "";
    cudaDeviceProp properties;
    LOCUS_CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    return std::string(properties.name) + ", compute capability " + std::to_string(properties.major) + "." +
           std::to_string(properties.minor);
}

}  // namespace locus::cuda

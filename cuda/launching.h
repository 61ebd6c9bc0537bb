#pragma once
// What the starts of all fused kernels share; only .cu files include this.
#include "cuda/device.h"

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

template <class Run>
void allow_shared_bytes(Run run, int bytes) {
    LOCUS_CUDA_CHECK(cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

inline dim3 grid(int queries, int tile, int heads, int batch) {
    return {static_cast<unsigned>((queries + tile - 1) / tile), static_cast<unsigned>(heads),
            static_cast<unsigned>(batch)};
}

}  // namespace locus::cuda

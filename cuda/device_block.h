#pragma once
// A block of threads on the device, as the fused kernels use it; only .cu files include this.
#include "cuda/device.h"

#include <cstdint>
#include <utility>

#include "cuda/fused/half_types.h"

namespace locus::cuda {

/// c[16,8] += a[16,16] b[16,8] of a warp: this lane's registers, as mma.m16n8k16 has them.
struct Fragments {
    const std::uint32_t* a;
    std::uint32_t b0, b1;
    float* c;
};

template <class Lane>
class DeviceBlock {
public:
    using Factors = Fragments;

    __device__ explicit DeviceBlock(unsigned char* memory) : memory_(memory) {
        lane_.thread = static_cast<int>(threadIdx.x);
    }

    template <class F>
    __device__ void each(F f) {
        f(lane_);
    }
    __device__ void sync() { __syncthreads(); }
    /// Everything that was copied is there, for every thread.
    __device__ void arrive() {
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
    }

    template <class Value>
    __device__ Value* shared(int bytes) const {
        return reinterpret_cast<Value*>(memory_ + bytes);
    }
    template <class Value>
    __device__ Value load(const Lane&, const Value* from) const {
        return *from;
    }
    template <class Value>
    __device__ void store(Lane&, Value* to, Value value) const {
        *to = value;
    }
    /// 16 bytes from global to shared memory, in flight until `arrive`.
    __device__ void copy16(Lane&, void* to, const void* from) const {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory");
    }
    __device__ void zero16(Lane&, void* to) const { *static_cast<uint4*>(to) = uint4{0, 0, 0, 0}; }
    template <class Scalar>
    __device__ void store_pair(Scalar* to, std::uint32_t pair) const {
        *reinterpret_cast<std::uint32_t*>(to) = pair;
    }

    /// Four 8 x 8 matrices from shared memory; f gives the row whose address this lane tells, and four registers.
    template <bool transposed, class F>
    __device__ void load_matrices(F f) {
        const auto [row, out] = f(lane_);
        if constexpr (transposed)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                         : "r"(address(row))
                         : "memory");
        else
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                         : "r"(address(row))
                         : "memory");
    }

    template <class Scalar, class F>
    __device__ void multiply(F f) {
        const Fragments at = f(lane_);
        if constexpr (std::is_same_v<Scalar, Half>)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                "{%0,%1,%2,%3};"
                : "+f"(at.c[0]), "+f"(at.c[1]), "+f"(at.c[2]), "+f"(at.c[3])
                : "r"(at.a[0]), "r"(at.a[1]), "r"(at.a[2]), "r"(at.a[3]), "r"(at.b0), "r"(at.b1));
        else
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                "{%0,%1,%2,%3};"
                : "+f"(at.c[0]), "+f"(at.c[1]), "+f"(at.c[2]), "+f"(at.c[3])
                : "r"(at.a[0]), "r"(at.a[1]), "r"(at.a[2]), "r"(at.a[3]), "r"(at.b0), "r"(at.b1));
    }

    /// Every lane of a quad gets the largest of its four numbers, or their sum.
    template <class F>
    __device__ void quad_largest(F f) {
        float& value = f(lane_);
        for (int step = 1; step <= 2; step *= 2) value = larger(value, __shfl_xor_sync(0xffffffffu, value, step));
    }
    template <class F>
    __device__ void quad_sum(F f) {
        float& value = f(lane_);
        for (int step = 1; step <= 2; step *= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    }

    /// Every lane of a warp gets the sum of its 32 numbers.
    template <class F>
    __device__ void warp_sum(F f) {
        float& value = f(lane_);
        for (int step = 1; step <= 16; step *= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    }

    /// One instruction; a NaN counts for nothing, and shows in the sum of a softmax.
    __device__ static float larger(float x, float y) { return fmaxf(x, y); }

    /// 2^x within 2 units in the last place; results below 2^-126 are 0.
    __device__ static float exp2(float x) {
        float y;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }

private:
    __device__ static std::uint32_t address(const void* shared) {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    }

    unsigned char* memory_;
    Lane lane_;
};

}  // namespace locus::cuda

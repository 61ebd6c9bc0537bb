#pragma once
// A block of warpgroups on a Hopper device, as hopper_forward.h uses it, and its products as instructions; only .cu
// files include this, and only for sm_90a. Source: PTX ISA 9.0, "Asynchronous warpgroup level matrix
// multiply-accumulate operation using wgmma.mma_async", "cp.async.bulk.tensor", "mbarrier", "membar/fence",
// "wgmma.fence".
#include <cuda.h>
#include <cstdint>

#include "cuda/device.h"
#include "cuda/device_block.h"
#include "cuda/fused/half_types.h"
#include "cuda/hopper/hopper_layout.h"

namespace locus::cuda {

/// c[64,64] of a warpgroup, this lane's registers, += a[64,16] b[16,64]; a in registers, b described; transposed:
/// b's 64 columns are neighbours in memory; adds: false: c is the product alone, whatever it was.
template <class Scalar, bool transposed, bool adds>
__device__ inline void product_of_held(const std::uint32_t* a, std::uint64_t b, float (*c)[4]) {
    if constexpr (std::is_same_v<Scalar, Half>)
        asm volatile(
            "{\n.reg .pred adds;\nsetp.ne.u32 adds, %38, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
            "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
            "{%32, %33, %34, %35}, %36, adds, 1, 1, %37;\n}\n"
            : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
              "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
              "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
              "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
              "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(transposed), "n"(adds));
    else
        asm volatile(
            "{\n.reg .pred adds;\nsetp.ne.u32 adds, %38, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
            "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
            "{%32, %33, %34, %35}, %36, adds, 1, 1, %37;\n}\n"
            : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
              "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
              "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
              "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
              "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(transposed), "n"(adds));
}

/// The same with a described too, and the rows of b apart in memory.
template <class Scalar, bool adds>
__device__ inline void product_of_shared(std::uint64_t a, std::uint64_t b, float (*c)[4]) {
    if constexpr (std::is_same_v<Scalar, Half>)
        asm volatile(
            "{\n.reg .pred adds;\nsetp.ne.u32 adds, %34, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
            "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
            "%32, %33, adds, 1, 1, 0, 0;\n}\n"
            : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
              "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
              "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
              "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
              "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
            : "l"(a), "l"(b), "n"(adds));
    else
        asm volatile(
            "{\n.reg .pred adds;\nsetp.ne.u32 adds, %34, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
            "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
            "%32, %33, adds, 1, 1, 0, 0;\n}\n"
            : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
              "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
              "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
              "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
              "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
            : "l"(a), "l"(b), "n"(adds));
}

/// c[64,64] += a[64,16] b[16,64] of a warpgroup: a and c are this lane's registers, b is described.
struct HeldFactorsOnDevice {
    const std::uint32_t* a;
    std::uint64_t b;
    float (*c)[4];
};

/// The same with a described.
struct SharedFactorsOnDevice {
    std::uint64_t a, b;
    float (*c)[4];
};

/// What a warp does of a kernel's text: what is not its part does nothing.
enum class HopperRole { all, products, copies };

/// A block's warpgroups of so many threads together, and the warps behind them, the first of which asks for copies; or
/// warpgroups alone (all), the first thread of which asks for them.
template <class Lane, int threads, HopperRole role>
class HopperBlock : public DeviceBlock<Lane> {
    using Base = DeviceBlock<Lane>;
    static constexpr bool kCopies = role == HopperRole::copies;

public:
    using Map = CUtensorMap;
    using HeldFactors = HeldFactorsOnDevice;
    using SharedFactors = SharedFactorsOnDevice;

    __device__ explicit HopperBlock(unsigned char* memory)
        : Base(memory),
          start_(static_cast<std::uint32_t>(__cvta_generic_to_shared(memory))),
          warpgroup_(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0)) {
        if (start_ % kPatternBytes != 0) __trap();  // the exchange of chunks is a function of the address
    }

    /// The same for all lanes of a warp, and the compiler knows it: descriptors are in registers that warps share.
    __device__ int warpgroup(const Lane&) const { return warpgroup_; }
    /// Where a byte of the block's memory lies, as descriptors want it.
    __device__ std::uint32_t address(int place) const { return start_ + static_cast<std::uint32_t>(place); }

    /// out(lane) = a bit for every lane of its warp, 1 where holds(lane).
    template <class Holds, class Out>
    __device__ void vote(Holds holds, Out out) {
        this->each([&](Lane& r) { out(r) = __ballot_sync(0xffffffffu, holds(r)); });
    }

    template <class F>
    __device__ void each(F f) {
        if constexpr (!kCopies) Base::each(f);
    }
    template <bool transposed, class F>
    __device__ void load_matrices(F f) {
        if constexpr (!kCopies) Base::template load_matrices<transposed>(f);
    }
    template <class F>
    __device__ void quad_largest(F f) {
        if constexpr (!kCopies) Base::quad_largest(f);
    }
    template <class F>
    __device__ void quad_sum(F f) {
        if constexpr (!kCopies) Base::quad_sum(f);
    }
    /// Everybody, all warpgroups, or each warpgroup for itself.
    __device__ void sync_all() const { __syncthreads(); }
    __device__ void sync() const {
        if constexpr (!kCopies) asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
    }
    __device__ void sync_warpgroup() const {
        if constexpr (!kCopies) asm volatile("bar.sync %0, 128;" ::"r"(2 + warpgroup_) : "memory");
    }

    // Barriers and the copy engine.

    /// One lane of who asks for copies.
    template <class F>
    __device__ void one(F f) const {
        if constexpr (role != HopperRole::products)
            if (threadIdx.x == (kCopies ? threads : 0)) f();
    }
    /// A barrier that completes a phase with so many arrivals and all bytes that they announce.
    __device__ void start_barrier(int barrier, int arrivals) const {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(arrivals) : "memory");
    }
    /// For the copy engine too.
    __device__ void barriers_are_started() const {
        if constexpr (role != HopperRole::products)
            asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
    }
    __device__ void expect(int barrier, int bytes) const {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes)
                     : "memory");
    }
    /// A box of 64 channels and 64 rows, as hopper_layout.h has them; zeros for what lies outside of the map.
    __device__ void copy_box(int to, const Map& map, int channel, int row, int head, int sample, int barrier) const {
        asm volatile(
            "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(address(to)),
            "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(channel), "r"(row), "r"(head), "r"(sample),
            "r"(address(barrier))
            : "memory");
    }
    /// Every warp arrives once: its lanes are done with what the barrier guards.
    __device__ void arrive_by_warp(int barrier) const {
        if constexpr (!kCopies)
            if (threadIdx.x % 32 == 0)
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
    }
    /// Who asks for copies, until all warps have arrived.
    __device__ void wait_for_warps(int barrier, std::uint32_t parity) const { wait_for_phase(barrier, parity); }
    /// Until the phase with this parity is over; what was copied in it is there for the thread that waited.
    __device__ void wait(int barrier, std::uint32_t parity) const {
        if constexpr (!kCopies) wait_for_phase(barrier, parity);
    }
    /// Between this thread's own loads and stores of shared memory and what the copy engine and the tensor cores do
    /// there after the next barrier.
    __device__ void fence_copies() const {
        if constexpr (!kCopies) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }

    // Products.

    /// Between what lanes do with registers and products that use them.
    __device__ void fence_registers() const {
        if constexpr (!kCopies) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    }
    template <class Scalar, bool transposed, bool adds, class F>
    __device__ void multiply_held(F f) {
        each([&](Lane& r) {
            const HeldFactors at = f(r);
            product_of_held<Scalar, transposed, adds>(at.a, at.b, at.c);
        });
    }
    template <class Scalar, bool adds, class F>
    __device__ void multiply_shared(F f) {
        each([&](Lane& r) {
            const SharedFactors at = f(r);
            product_of_shared<Scalar, adds>(at.a, at.b, at.c);
        });
    }
    /// The products since the last call are one group.
    __device__ void commit_products() const {
        if constexpr (!kCopies) asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }
    /// What a number comes from is computed before the next wait: ptxas puts waits before arithmetic that does not need
    /// them, but not before a store.  scratch: 4 bytes of every thread.
    __device__ void settle(const Lane&, int scratch, float number) const {
        asm volatile("st.volatile.shared.f32 [%0], %1;" ::"r"(address(scratch + 4 * static_cast<int>(threadIdx.x))),
                     "f"(number)
                     : "memory");
    }
    /// Until all but the latest so many groups are done.
    template <int groups>
    __device__ void wait_for_products() const {
        if constexpr (!kCopies) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
    }

private:
    __device__ void wait_for_phase(int barrier, std::uint32_t parity) const {
        std::uint32_t over = 0;
        while (!over)
            asm volatile(
                "{\n.reg .pred over;\n"
                "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
                "selp.u32 %0, 1, 0, over;\n}\n"
                : "=r"(over)
                : "r"(address(barrier)), "r"(parity)
                : "memory");
    }

    std::uint32_t start_;
    int warpgroup_;
};

}  // namespace locus::cuda

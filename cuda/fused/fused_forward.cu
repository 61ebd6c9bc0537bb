// The forward kernels on tensor cores and the portable one: which serves which width and device, and its launch.
#include "cuda/device.h"
#include "cuda/device_block.h"
#include "cuda/fused/fused_forward.h"
#include "cuda/fused/fused_host.h"
#include "cuda/fused/portable_forward.h"
#include "cuda/hopper/hopper_kernels.h"

namespace locus::cuda {

namespace {

/// How many blocks a multiprocessor has to hold; 0: as the compiler chooses.  For the smallest tile it assumes more
/// blocks than their shared memory allows, and gives each too few registers.
constexpr int blocks_together(int tile_queries) { return tile_queries == 32 ? 4 : 0; }

template <class Scalar, int width, int tile_queries, int tile_keys>
__global__ void __launch_bounds__(2 * tile_queries, blocks_together(tile_queries))
    fused_forward_kernel(const __grid_constant__ ForwardArguments<Scalar> args, int capacity) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<ForwardLane<width, tile_keys>>;
    Block block(memory);
    const BlockPlace at = place_of_block(blockIdx.x, blockIdx.y, args.queries, tile_queries);
    FusedForward<Scalar, width, tile_queries, tile_keys, Block>(block, args, capacity, at.tile, at.head, at.sample)
        .run();
}

/// One kernel and what it needs.
template <class Scalar>
struct ForwardKernel {
    int width, tile_queries, tile_keys;
    void (*run)(const ForwardArguments<Scalar>, int);

    int capacity(const ForwardArguments<Scalar>& args) const {
        return smaller(args.table_rows, tile_queries + args.keys - 1);
    }
    int bytes(const ForwardArguments<Scalar>& args) const {
        return ForwardLayout::of(tile_queries, tile_keys, width, capacity(args), args.k_r, args.q_r).bytes;
    }
    int threads() const { return 2 * tile_queries; }
    std::string tile() const { return std::to_string(tile_queries) + " x " + std::to_string(tile_keys); }
};

template <class Scalar, int width, int tile_queries, int tile_keys>
constexpr ForwardKernel<Scalar> forward_kernel() {
    return {width, tile_queries, tile_keys, fused_forward_kernel<Scalar, width, tile_queries, tile_keys>};
}

/// The tiles that are compiled for tensor cores, the largest first.  Width 64 is that of every released DeBERTa; others
/// take the portable kernel.
template <class Scalar>
const std::vector<ForwardKernel<Scalar>>& forward_kernels() {
    static const std::vector<ForwardKernel<Scalar>> kernels = {forward_kernel<Scalar, 64, 128, 64>(),
                                                               forward_kernel<Scalar, 64, 64, 64>(),
                                                               forward_kernel<Scalar, 64, 32, 32>()};
    return kernels;
}

template <class Scalar>
__global__ void __launch_bounds__(4 * PortableLane::kTile)
    portable_forward_kernel(const __grid_constant__ ForwardArguments<Scalar> args, int width) {
    extern __shared__ __align__(16) unsigned char memory[];
    DeviceBlock<PortableLane> block(memory);
    const BlockPlace at = place_of_block(blockIdx.x, blockIdx.y, args.queries, PortableLane::kTile);
    PortableForward<Scalar, DeviceBlock<PortableLane>>(block, args, width, at.tile, at.head, at.sample).run();
}

/// None of both: the portable kernel.
template <class Scalar>
struct Chosen {
    const HopperKernel<Scalar>* hopper = nullptr;
    const ForwardKernel<Scalar>* tensor_cores = nullptr;
};

/// The largest tile for which the device has shared memory; nullptr: there is none.
template <class Kernel, class Scalar>
const Kernel* largest_tile(const std::vector<Kernel>& kernels, const ForwardArguments<Scalar>& args, int width,
                           int smallest_tile) {
    const int available = most_shared_bytes();
    for (const Kernel& kernel : kernels) {
        // A tile of queries that is mostly empty wastes its tensor cores.
        const bool is_filled = kernel.tile_queries == smallest_tile || args.queries > kernel.tile_queries / 2;
        if (kernel.width == width && is_filled && kernel.bytes(args) <= available) return &kernel;
    }
    return nullptr;
}

template <class Scalar>
Chosen<Scalar> chosen_kernel(const ForwardArguments<Scalar>& args, int width, FusedPath path) {
    const auto may_be = [&](FusedPath one) { return path == FusedPath::fastest || path == one; };
    Chosen<Scalar> chosen;
    if constexpr (!std::is_same_v<Scalar, float>) {
        // By name it serves few queries too; mma.sync has smaller tiles for them.
        const int smallest_tile = path == FusedPath::hopper ? 64 : 0;
        const bool suits = suits_tensor_cores(args);
        if (suits && may_be(FusedPath::hopper) && is_hopper() && can_be_mapped(args, width))
            chosen.hopper = largest_tile(hopper_kernels<Scalar>(), args, width, smallest_tile);
        if (suits && !chosen.hopper && may_be(FusedPath::tensor_cores))
            chosen.tensor_cores = largest_tile(forward_kernels<Scalar>(), args, width, 32);
    }
    if ((path == FusedPath::hopper && !chosen.hopper) || (path == FusedPath::tensor_cores && !chosen.tensor_cores))
        throw Error(Fault::unsupported,
                    "CUDA: the " + std::string(path == FusedPath::hopper ? "Hopper" : "tensor core") +
                        " kernel does not serve " + std::to_string(args.queries) + " queries of width " +
                        std::to_string(width) + " with " + std::to_string(args.table_rows) +
                        " table rows here, expected " +
                        (path == FusedPath::hopper ? "compute capability 9.0, keys, " : "") +
                        "f16 or bf16, width 64, rows at multiples of 16 bytes, buckets that leave no row out, "
                        "and enough shared memory");
    return chosen;
}

template <class Scalar>
HopperMaps tensor_maps(const ForwardArguments<Scalar>& args, int width) {
    const auto numbers =
        std::is_same_v<Scalar, Half> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const ForwardMaps<RowsMap> rows = maps_of(args, width);
    HopperMaps maps{tensor_map(rows.q, numbers), tensor_map(rows.k, numbers), tensor_map(rows.v, numbers), {}, {}};
    if (args.k_r) maps.k_r = tensor_map(rows.k_r, numbers);
    if (args.q_r) maps.q_r = tensor_map(rows.q_r, numbers);
    return maps;
}

}  // namespace

template <class Scalar>
void launch_fused_forward(const ForwardArguments<Scalar>& args, int width, void* stream, FusedPath path) {
    check_width(width);
    if (args.batch == 0 || args.heads == 0 || args.queries == 0) return;
    const auto at = static_cast<cudaStream_t>(stream);
    const Chosen<Scalar> chosen = chosen_kernel(args, width, path);
    const auto start = [&](const auto& kernel, const auto&... more) {
        allow_shared_bytes(kernel.run, kernel.bytes(args));
        kernel.run<<<grid(args.queries, kernel.tile_queries, args.heads, args.batch), kernel.threads(),
                     kernel.bytes(args), at>>>(args, more..., kernel.capacity(args));
    };
    if (chosen.hopper) {
        if constexpr (!std::is_same_v<Scalar, float>) start(*chosen.hopper, tensor_maps(args, width));
    } else if (chosen.tensor_cores) {
        start(*chosen.tensor_cores);
    } else {
        using Portable = PortableForward<Scalar, DeviceBlock<PortableLane>>;
        allow_shared_bytes(portable_forward_kernel<Scalar>, Portable::bytes(width));
        portable_forward_kernel<Scalar><<<grid(args.queries, Portable::kTile, args.heads, args.batch),
                                          Portable::kThreads, Portable::bytes(width), at>>>(args, width);
    }
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

template <class Scalar>
std::string fused_forward_choice(const ForwardArguments<Scalar>& args, int width, FusedPath path) {
    check_width(width);
    const Chosen<Scalar> chosen = chosen_kernel(args, width, path);
    if (chosen.hopper) return "Hopper, tile " + chosen.hopper->tile();
    return chosen.tensor_cores ? "tensor cores, tile " + chosen.tensor_cores->tile() : "portable, tile 32 x 32";
}

template void launch_fused_forward<float>(const ForwardArguments<float>&, int, void*, FusedPath);
template void launch_fused_forward<Half>(const ForwardArguments<Half>&, int, void*, FusedPath);
template void launch_fused_forward<Bfloat16>(const ForwardArguments<Bfloat16>&, int, void*, FusedPath);
template std::string fused_forward_choice<float>(const ForwardArguments<float>&, int, FusedPath);
template std::string fused_forward_choice<Half>(const ForwardArguments<Half>&, int, FusedPath);
template std::string fused_forward_choice<Bfloat16>(const ForwardArguments<Bfloat16>&, int, FusedPath);

}  // namespace locus::cuda

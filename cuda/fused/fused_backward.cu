// The backward kernels on tensor cores and the portable ones: which serve which width and device, and their launch.
#include "cuda/device.h"
#include "cuda/device_block.h"
#include "cuda/fused/fused_backward.h"
#include "cuda/fused/fused_host.h"
#include "cuda/fused/portable_backward.h"
#include "cuda/fused/table_gradients.h"
#include "cuda/hopper/hopper_backward_kernels.h"
#include "cuda/hopper/hopper_kernels.h"

namespace locus::cuda {

namespace {

template <class Scalar, int width, int tile_outer, int tile_inner, bool around_keys>
__global__ void __launch_bounds__(4 * tile_outer, 1)
    fused_backward_kernel(const __grid_constant__ BackwardArguments<Scalar> args, int capacity) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<BackwardLane<width, tile_inner, around_keys>>;
    Block block(memory);
    const int tokens = around_keys ? args.forward.keys : args.forward.queries;
    const BlockPlace at = place_of_block(blockIdx.x, blockIdx.y, tokens, tile_outer);
    FusedBackward<Scalar, width, tile_outer, tile_inner, around_keys, Block>(block, args, capacity, at.tile, at.head,
                                                                             at.sample)
        .run();
}

template <class Scalar, int width, bool around_keys>
__global__ void __launch_bounds__(128) table_gradients_kernel(const __grid_constant__ BackwardArguments<Scalar> args) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<TableLane<width>>;
    Block block(memory);
    TableGradients<Scalar, width, around_keys, Block>(block, args, static_cast<int>(blockIdx.x),
                                                      static_cast<int>(blockIdx.y))
        .run();
}

/// One kernel around queries or keys and what it needs.
template <class Scalar>
struct BackwardKernel {
    int width, tile_outer, tile_inner;
    bool around_keys;
    void (*run)(const BackwardArguments<Scalar>, int);

    int outer(const BackwardArguments<Scalar>& args) const {
        return around_keys ? args.forward.keys : args.forward.queries;
    }
    int capacity(const BackwardArguments<Scalar>& args) const {
        const int inner = around_keys ? args.forward.queries : args.forward.keys;
        return smaller(args.forward.table_rows, tile_outer + inner - 1);
    }
    int bytes(const BackwardArguments<Scalar>& args) const {
        const bool c2p = args.forward.k_r != nullptr, p2c = args.forward.q_r != nullptr;
        return BackwardLayout::of(tile_outer, tile_inner, width, capacity(args), around_keys, around_keys ? p2c : c2p,
                                  around_keys ? c2p : p2c)
            .bytes;
    }
    int threads() const { return 4 * tile_outer; }
    std::string tile() const { return std::to_string(tile_outer) + " x " + std::to_string(tile_inner); }
};

template <class Scalar, int width, int tile_outer, int tile_inner, bool around_keys>
constexpr BackwardKernel<Scalar> backward_kernel() {
    return {width, tile_outer, tile_inner, around_keys,
            fused_backward_kernel<Scalar, width, tile_outer, tile_inner, around_keys>};
}

/// The tiles that are compiled for tensor cores, around queries and around keys, the largest first; width 64 alone, as
/// forward.
template <class Scalar>
const std::vector<BackwardKernel<Scalar>>& backward_kernels() {
    static const std::vector<BackwardKernel<Scalar>> kernels = {
        backward_kernel<Scalar, 64, 64, 64, false>(), backward_kernel<Scalar, 64, 64, 64, true>(),
        backward_kernel<Scalar, 64, 32, 32, false>(), backward_kernel<Scalar, 64, 32, 32, true>()};
    return kernels;
}

template <class Scalar>
__global__ void __launch_bounds__(4 * PortableBackwardLane::kTile)
    backward_delta_kernel(const __grid_constant__ BackwardArguments<Scalar> args, int width) {
    using Block = DeviceBlock<PortableBackwardLane>;
    Block block(nullptr);
    const BlockPlace at =
        place_of_block(blockIdx.x, blockIdx.y, args.forward.queries, BackwardDelta<Scalar, Block>::kTile);
    BackwardDelta<Scalar, Block>::run(block, args, width, at.tile, at.head, at.sample);
}

template <class Scalar, bool around_keys>
__global__ void __launch_bounds__(4 * PortableBackwardLane::kTile)
    portable_backward_kernel(const __grid_constant__ BackwardArguments<Scalar> args, int width) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<PortableBackwardLane>;
    Block block(memory);
    const int tokens = around_keys ? args.forward.keys : args.forward.queries;
    const BlockPlace at = place_of_block(blockIdx.x, blockIdx.y, tokens, PortableBackwardLane::kTile);
    PortableBackward<Scalar, around_keys, Block>(block, args, width, at.tile, at.head, at.sample).run();
}

template <class Scalar, bool around_keys>
__global__ void __launch_bounds__(128)
    portable_tables_kernel(const __grid_constant__ BackwardArguments<Scalar> args, int width) {
    using Block = DeviceBlock<LaneBase>;
    Block block(nullptr);
    PortableTables<Scalar, around_keys, Block>::run(block, args, width, static_cast<int>(blockIdx.x),
                                                    static_cast<int>(blockIdx.y));
}

/// None of both: the portable kernels.
template <class Scalar>
struct Chosen {
    const HopperBackwardKernel<Scalar>* hopper = nullptr;
    const BackwardKernel<Scalar>* tensor_cores = nullptr;
};

/// The largest tile for which the device has shared memory; nullptr: there is none.
template <class Kernel, class Scalar>
const Kernel* largest_tile(const std::vector<Kernel>& kernels, const BackwardArguments<Scalar>& args, int width,
                           bool around_keys, int smallest_tile) {
    const int available = most_shared_bytes();
    for (const Kernel& kernel : kernels) {
        // A smaller one if half of it would be empty.
        const bool is_filled = kernel.tile_outer == smallest_tile || kernel.outer(args) > kernel.tile_outer / 2;
        if (kernel.width == width && kernel.around_keys == around_keys && is_filled && kernel.bytes(args) <= available)
            return &kernel;
    }
    return nullptr;
}

template <class Scalar>
Chosen<Scalar> chosen_kernel(const BackwardArguments<Scalar>& args, int width, bool around_keys, FusedPath path) {
    const auto may_be = [&](FusedPath one) { return path == FusedPath::fastest || path == one; };
    Chosen<Scalar> chosen;
    if constexpr (!std::is_same_v<Scalar, float>) {
        // By name it serves few tokens too; mma.sync has smaller tiles for them.
        const int smallest_tile = path == FusedPath::hopper ? 64 : 0;
        const bool suits = suits_tensor_cores(args);
        if (suits && may_be(FusedPath::hopper) && is_hopper() && can_be_mapped(args, width))
            chosen.hopper = largest_tile(hopper_backward_kernels<Scalar>(), args, width, around_keys, smallest_tile);
        if (suits && !chosen.hopper && may_be(FusedPath::tensor_cores))
            chosen.tensor_cores = largest_tile(backward_kernels<Scalar>(), args, width, around_keys, 32);
    }
    if ((path == FusedPath::hopper && !chosen.hopper) || (path == FusedPath::tensor_cores && !chosen.tensor_cores))
        throw Error(Fault::unsupported,
                    "CUDA: the " + std::string(path == FusedPath::hopper ? "Hopper" : "tensor core") +
                        " backward kernel does not serve width " + std::to_string(width) + " with " +
                        std::to_string(args.forward.table_rows) + " table rows here, expected " +
                        (path == FusedPath::hopper ? "compute capability 9.0, queries and keys, " : "") +
                        "f16 or bf16, width 64, rows at multiples of 16 bytes, buckets that leave no row out, "
                        "and enough shared memory");
    return chosen;
}

template <class Scalar>
HopperBackwardMaps tensor_maps(const BackwardArguments<Scalar>& args, int width) {
    const auto numbers =
        std::is_same_v<Scalar, Half> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const BackwardMaps<RowsMap> rows = maps_of(args, width);
    HopperBackwardMaps maps{
        tensor_map(rows.q, numbers),        tensor_map(rows.k, numbers), tensor_map(rows.v, numbers), {}, {},
        tensor_map(rows.d_context, numbers)};
    if (args.forward.k_r) maps.k_r = tensor_map(rows.k_r, numbers);
    if (args.forward.q_r) maps.q_r = tensor_map(rows.q_r, numbers);
    return maps;
}

template <class Scalar, bool around_keys>
void launch_portable(const BackwardArguments<Scalar>& args, int width, cudaStream_t at) {
    const BackwardSide<Scalar, around_keys> side{args};
    const int tokens = around_keys ? args.forward.keys : args.forward.queries;
    using Portable = PortableBackward<Scalar, around_keys, DeviceBlock<PortableBackwardLane>>;
    allow_shared_bytes(portable_backward_kernel<Scalar, around_keys>, Portable::bytes(width));
    portable_backward_kernel<Scalar, around_keys>
        <<<grid(tokens, Portable::kTile, args.forward.heads, args.forward.batch), Portable::kThreads,
           Portable::bytes(width), at>>>(args, width);
    LOCUS_CUDA_CHECK(cudaGetLastError());
    if (!side.d_rows()) return;
    using Tables = PortableTables<Scalar, around_keys, DeviceBlock<LaneBase>>;
    const dim3 blocks = grid(args.reached.count * width, Tables::kThreads, args.forward.heads, 1);
    portable_tables_kernel<Scalar, around_keys><<<blocks, Tables::kThreads, 0, at>>>(args, width);
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

/// launch(blocks, threads, bytes, capacity) for the blocks of one kernel.
template <class Kernel, class Scalar, class Launch>
void launch_kernel(const Kernel& kernel, const BackwardArguments<Scalar>& args, Launch launch) {
    allow_shared_bytes(kernel.run, kernel.bytes(args));
    launch(grid(kernel.outer(args), kernel.tile_outer, args.forward.heads, args.forward.batch), kernel.threads(),
           kernel.bytes(args), kernel.capacity(args));
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

/// From the sums by row that a kernel on tensor cores left behind.
template <class Scalar, int width, bool around_keys>
void launch_tables(const BackwardArguments<Scalar>& args, cudaStream_t at) {
    constexpr int kBytes = TableGradients<Scalar, width, around_keys, DeviceBlock<TableLane<width>>>::bytes();
    allow_shared_bytes(table_gradients_kernel<Scalar, width, around_keys>, kBytes);
    table_gradients_kernel<Scalar, width, around_keys>
        <<<grid(args.reached.count, 64, args.forward.heads, 1), 128, kBytes, at>>>(args);
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

/// The gradients of one side's tokens, and of the relative rows that they meet.
template <class Scalar, bool around_keys>
void launch_side(const BackwardArguments<Scalar>& args, int width, cudaStream_t at, FusedPath path) {
    const BackwardSide<Scalar, around_keys> side{args};
    if (float* gradient = side.d_rows()) {
        const auto numbers = static_cast<std::size_t>(args.forward.heads) *
                             static_cast<std::size_t>(args.forward.table_rows) * static_cast<std::size_t>(width);
        LOCUS_CUDA_CHECK(cudaMemsetAsync(gradient, 0, numbers * sizeof(float), at));
    }
    if ((around_keys ? args.forward.keys : args.forward.queries) == 0) return;
    const Chosen<Scalar> chosen = chosen_kernel(args, width, around_keys, path);
    if (!chosen.hopper && !chosen.tensor_cores) {
        launch_portable<Scalar, around_keys>(args, width, at);
        return;
    }
    if constexpr (!std::is_same_v<Scalar, float>) {
        if (chosen.hopper) {
            const HopperBackwardMaps maps = tensor_maps(args, width);
            launch_kernel(*chosen.hopper, args, [&](dim3 blocks, int threads, int bytes, int capacity) {
                chosen.hopper->run<<<blocks, threads, bytes, at>>>(args, maps, capacity);
            });
        } else {
            launch_kernel(*chosen.tensor_cores, args, [&](dim3 blocks, int threads, int bytes, int capacity) {
                chosen.tensor_cores->run<<<blocks, threads, bytes, at>>>(args, capacity);
            });
        }
        if (side.d_rows()) launch_tables<Scalar, 64, around_keys>(args, at);  // the width of all of them
    }
}

}  // namespace

template <class Scalar>
void launch_fused_backward(const BackwardArguments<Scalar>& args, int width, void* stream, FusedPath path) {
    check_width(width);
    if (args.forward.batch == 0 || args.forward.heads == 0) return;
    const auto at = static_cast<cudaStream_t>(stream);
    if (args.forward.queries > 0) {
        using Delta = BackwardDelta<Scalar, DeviceBlock<PortableBackwardLane>>;
        backward_delta_kernel<<<grid(args.forward.queries, Delta::kTile, args.forward.heads, args.forward.batch),
                                Delta::kThreads, 0, at>>>(args, width);
        LOCUS_CUDA_CHECK(cudaGetLastError());
    }
    launch_side<Scalar, false>(args, width, at, path);
    launch_side<Scalar, true>(args, width, at, path);
}

template <class Scalar>
std::string fused_backward_choice(const BackwardArguments<Scalar>& args, int width, FusedPath path) {
    check_width(width);
    const auto name = [&](bool around_keys) {
        const Chosen<Scalar> chosen = chosen_kernel(args, width, around_keys, path);
        return chosen.hopper         ? "Hopper, tile " + chosen.hopper->tile()
               : chosen.tensor_cores ? "tensor cores, tile " + chosen.tensor_cores->tile()
                                     : std::string("portable, tile 16 x 16");
    };
    return name(false) == name(true) ? name(false) : name(false) + ", around keys " + name(true);
}

template void launch_fused_backward<float>(const BackwardArguments<float>&, int, void*, FusedPath);
template void launch_fused_backward<Half>(const BackwardArguments<Half>&, int, void*, FusedPath);
template void launch_fused_backward<Bfloat16>(const BackwardArguments<Bfloat16>&, int, void*, FusedPath);
template std::string fused_backward_choice<float>(const BackwardArguments<float>&, int, FusedPath);
template std::string fused_backward_choice<Half>(const BackwardArguments<Half>&, int, FusedPath);
template std::string fused_backward_choice<Bfloat16>(const BackwardArguments<Bfloat16>&, int, FusedPath);

}  // namespace locus::cuda

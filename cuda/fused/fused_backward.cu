// The backward kernels on tensor cores and the portable ones: which serve which width and device, and their launch.
#include "cuda/device.h"
#include "cuda/device_block.h"
#include "cuda/fused/fused_backward.h"
#include "cuda/fused/fused_host.h"
#include "cuda/fused/portable_backward.h"
#include "cuda/fused/table_gradients.h"

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

/// One kernel around queries or keys, the one that follows it, and what they need.
template <class Scalar>
struct BackwardKernel {
    int width, tile_outer, tile_inner;
    bool around_keys;
    void (*run)(const BackwardArguments<Scalar>, int);
    void (*run_tables)(const BackwardArguments<Scalar>);
    int table_bytes;

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
    return {width,
            tile_outer,
            tile_inner,
            around_keys,
            fused_backward_kernel<Scalar, width, tile_outer, tile_inner, around_keys>,
            table_gradients_kernel<Scalar, width, around_keys>,
            TableGradients<Scalar, width, around_keys, DeviceBlock<TableLane<width>>>::bytes()};
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

/// The largest tile for which the device has shared memory; nullptr: the portable kernels have to do it.
template <class Scalar>
const BackwardKernel<Scalar>* chosen_kernel(const BackwardArguments<Scalar>& args, int width, bool around_keys) {
    if constexpr (std::is_same_v<Scalar, float>) {
        return nullptr;
    } else {
        if (!suits_tensor_cores(args)) return nullptr;
        const int available = most_shared_bytes();
        const BackwardKernel<Scalar>* chosen = nullptr;
        for (const BackwardKernel<Scalar>& kernel : backward_kernels<Scalar>()) {
            if (kernel.width != width || kernel.around_keys != around_keys || kernel.bytes(args) > available) continue;
            chosen = &kernel;
            if (kernel.outer(args) > kernel.tile_outer / 2) break;  // a smaller one if half of it would be empty
        }
        return chosen;
    }
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

template <class Scalar>
void launch_kernel(const BackwardKernel<Scalar>& kernel, const BackwardArguments<Scalar>& args, bool has_tables,
                   cudaStream_t at) {
    allow_shared_bytes(kernel.run, kernel.bytes(args));
    kernel.run<<<grid(kernel.outer(args), kernel.tile_outer, args.forward.heads, args.forward.batch), kernel.threads(),
                 kernel.bytes(args), at>>>(args, kernel.capacity(args));
    LOCUS_CUDA_CHECK(cudaGetLastError());
    if (!has_tables) return;
    allow_shared_bytes(kernel.run_tables, kernel.table_bytes);
    kernel.run_tables<<<grid(args.reached.count, 64, args.forward.heads, 1), 128, kernel.table_bytes, at>>>(args);
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

/// The gradients of one side's tokens, and of the relative rows that they meet.
template <class Scalar, bool around_keys>
void launch_side(const BackwardArguments<Scalar>& args, int width, cudaStream_t at) {
    const BackwardSide<Scalar, around_keys> side{args};
    if (float* gradient = side.d_rows()) {
        const auto numbers = static_cast<std::size_t>(args.forward.heads) *
                             static_cast<std::size_t>(args.forward.table_rows) * static_cast<std::size_t>(width);
        LOCUS_CUDA_CHECK(cudaMemsetAsync(gradient, 0, numbers * sizeof(float), at));
    }
    if ((around_keys ? args.forward.keys : args.forward.queries) == 0) return;
    if (const BackwardKernel<Scalar>* kernel = chosen_kernel(args, width, around_keys))
        launch_kernel(*kernel, args, side.d_rows() != nullptr, at);
    else
        launch_portable<Scalar, around_keys>(args, width, at);
}

}  // namespace

template <class Scalar>
void launch_fused_backward(const BackwardArguments<Scalar>& args, int width, void* stream) {
    check_width(width);
    if (args.forward.batch == 0 || args.forward.heads == 0) return;
    const auto at = static_cast<cudaStream_t>(stream);
    if (args.forward.queries > 0) {
        using Delta = BackwardDelta<Scalar, DeviceBlock<PortableBackwardLane>>;
        backward_delta_kernel<<<grid(args.forward.queries, Delta::kTile, args.forward.heads, args.forward.batch),
                                Delta::kThreads, 0, at>>>(args, width);
        LOCUS_CUDA_CHECK(cudaGetLastError());
    }
    launch_side<Scalar, false>(args, width, at);
    launch_side<Scalar, true>(args, width, at);
}

template <class Scalar>
std::string fused_backward_choice(const BackwardArguments<Scalar>& args, int width) {
    check_width(width);
    const auto name = [&](bool around_keys) {
        const BackwardKernel<Scalar>* kernel = chosen_kernel(args, width, around_keys);
        return kernel ? "tensor cores, tile " + kernel->tile() : std::string("portable, tile 16 x 16");
    };
    return name(false) == name(true) ? name(false) : name(false) + ", around keys " + name(true);
}

template void launch_fused_backward<float>(const BackwardArguments<float>&, int, void*);
template void launch_fused_backward<Half>(const BackwardArguments<Half>&, int, void*);
template void launch_fused_backward<Bfloat16>(const BackwardArguments<Bfloat16>&, int, void*);
template std::string fused_backward_choice<float>(const BackwardArguments<float>&, int);
template std::string fused_backward_choice<Half>(const BackwardArguments<Half>&, int);
template std::string fused_backward_choice<Bfloat16>(const BackwardArguments<Bfloat16>&, int);

}  // namespace locus::cuda

// Which kernel serves which width and device, and its start.
#include "cuda/device.h"
#include "cuda/fused/fused_kernels.h"
#include "cuda/fused/fused_launch.h"
#include "cuda/fused/portable_forward.h"
#include "cuda/hopper/hopper_kernels.h"
#include "cuda/hopper/tensor_map.h"
#include "cuda/launching.h"

namespace locus::cuda {

namespace {

template <class Scalar>
__global__ void __launch_bounds__(4 * PortableLane::kTile)
    portable_forward_kernel(const __grid_constant__ ForwardArguments<Scalar> args, int width) {
    extern __shared__ __align__(16) unsigned char memory[];
    DeviceBlock<PortableLane> block(memory);
    PortableForward<Scalar, DeviceBlock<PortableLane>>(block, args, width, static_cast<int>(blockIdx.x),
                                                       static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z))
        .run();
}

/// None of both: the portable kernel.
template <class Scalar>
struct Chosen {
    const HopperKernel<Scalar>* hopper = nullptr;
    const ForwardKernel<Scalar>* tensor_cores = nullptr;
};

/// The largest tile that the device has room for; nullptr: there is none.
template <class Kernel, class Scalar>
const Kernel* largest_tile(const std::vector<Kernel>& kernels, const ForwardArguments<Scalar>& args, int width,
                           int smallest_tile) {
    const int room = most_shared_bytes();
    for (const Kernel& kernel : kernels) {
        // A tile of queries that is mostly empty wastes its tensor cores.
        const bool is_filled = kernel.tile_queries == smallest_tile || args.queries > kernel.tile_queries / 2;
        if (kernel.width == width && is_filled && kernel.bytes(args) <= room) return &kernel;
    }
    return nullptr;
}

template <class Scalar>
Chosen<Scalar> chosen_kernel(const ForwardArguments<Scalar>& args, int width, ForwardPath path) {
    const auto may_be = [&](ForwardPath one) { return path == ForwardPath::fastest || path == one; };
    Chosen<Scalar> chosen;
    if constexpr (!std::is_same_v<Scalar, float>) {
        // By name it serves few queries too; mma.sync has smaller tiles for them.
        const int smallest_tile = path == ForwardPath::hopper ? 64 : 0;
        if (may_be(ForwardPath::hopper) && is_hopper() && can_be_mapped(args, width))
            chosen.hopper = largest_tile(hopper_kernels<Scalar>(), args, width, smallest_tile);
        if (!chosen.hopper && may_be(ForwardPath::tensor_cores))
            chosen.tensor_cores = largest_tile(forward_kernels<Scalar>(), args, width, 32);
    }
    if ((path == ForwardPath::hopper && !chosen.hopper) || (path == ForwardPath::tensor_cores && !chosen.tensor_cores))
        throw Error(Fault::unsupported,
                    "CUDA: the " + std::string(path == ForwardPath::hopper ? "Hopper" : "tensor core") +
                        " kernel does not serve " + std::to_string(args.queries) + " queries of width " +
                        std::to_string(width) + " with " + std::to_string(args.table_rows) +
                        " table rows here, expected " +
                        (path == ForwardPath::hopper
                             ? "compute capability 9.0, f16 or bf16, width 64 or 128, keys, rows at multiples of 16 "
                               "bytes and room in shared memory"
                             : "f16 or bf16, width 32, 64 or 128 and room in shared memory"));
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
void launch_fused_forward(const ForwardArguments<Scalar>& args, int width, void* stream, ForwardPath path) {
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
std::string fused_forward_choice(const ForwardArguments<Scalar>& args, int width, ForwardPath path) {
    check_width(width);
    const Chosen<Scalar> chosen = chosen_kernel(args, width, path);
    if (chosen.hopper) return "Hopper, tile " + chosen.hopper->tile();
    return chosen.tensor_cores ? "tensor cores, tile " + chosen.tensor_cores->tile() : "portable, tile 32 x 32";
}

template void launch_fused_forward<float>(const ForwardArguments<float>&, int, void*, ForwardPath);
template void launch_fused_forward<Half>(const ForwardArguments<Half>&, int, void*, ForwardPath);
template void launch_fused_forward<Bfloat16>(const ForwardArguments<Bfloat16>&, int, void*, ForwardPath);
template std::string fused_forward_choice<float>(const ForwardArguments<float>&, int, ForwardPath);
template std::string fused_forward_choice<Half>(const ForwardArguments<Half>&, int, ForwardPath);
template std::string fused_forward_choice<Bfloat16>(const ForwardArguments<Bfloat16>&, int, ForwardPath);

}  // namespace locus::cuda

// Which kernel serves which width and device, and its start.
#include "cuda/device.h"
#include "cuda/fused_kernels.h"
#include "cuda/fused_launch.h"
#include "cuda/launching.h"
#include "cuda/portable_forward.h"

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

/// The largest tile that the device has room for; nullptr: the portable kernel has to do it.
template <class Scalar>
const ForwardKernel<Scalar>* chosen_kernel(const ForwardArguments<Scalar>& args, int width) {
    if constexpr (std::is_same_v<Scalar, float>) {
        return nullptr;
    } else {
        const int room = most_shared_bytes();
        // A tile of queries that is mostly empty wastes its tensor cores.
        const auto fits = [&](const ForwardKernel<Scalar>& kernel) {
            return kernel.width == width && kernel.bytes(args) <= room &&
                   (kernel.tile_queries == 32 || args.queries > kernel.tile_queries / 2);
        };
        for (const ForwardKernel<Scalar>& kernel : forward_kernels<Scalar>())
            if (fits(kernel)) return &kernel;
        return nullptr;
    }
}

}  // namespace

template <class Scalar>
void launch_fused_forward(const ForwardArguments<Scalar>& args, int width, void* stream) {
    check_width(width);
    if (args.batch == 0 || args.heads == 0 || args.queries == 0) return;
    const auto at = static_cast<cudaStream_t>(stream);
    if (const ForwardKernel<Scalar>* kernel = chosen_kernel(args, width)) {
        allow_shared_bytes(kernel->run, kernel->bytes(args));
        kernel->run<<<grid(args.queries, kernel->tile_queries, args.heads, args.batch), kernel->threads(),
                      kernel->bytes(args), at>>>(args, kernel->capacity(args));
    } else {
        using Portable = PortableForward<Scalar, DeviceBlock<PortableLane>>;
        allow_shared_bytes(portable_forward_kernel<Scalar>, Portable::bytes(width));
        portable_forward_kernel<Scalar><<<grid(args.queries, Portable::kTile, args.heads, args.batch),
                                          Portable::kThreads, Portable::bytes(width), at>>>(args, width);
    }
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

template <class Scalar>
std::string fused_forward_choice(const ForwardArguments<Scalar>& args, int width) {
    check_width(width);
    const ForwardKernel<Scalar>* kernel = chosen_kernel(args, width);
    return kernel ? "tensor cores, tile " + kernel->tile() : "portable, tile 32 x 32";
}

template void launch_fused_forward<float>(const ForwardArguments<float>&, int, void*);
template void launch_fused_forward<Half>(const ForwardArguments<Half>&, int, void*);
template void launch_fused_forward<Bfloat16>(const ForwardArguments<Bfloat16>&, int, void*);
template std::string fused_forward_choice<float>(const ForwardArguments<float>&, int);
template std::string fused_forward_choice<Half>(const ForwardArguments<Half>&, int);
template std::string fused_forward_choice<Bfloat16>(const ForwardArguments<Bfloat16>&, int);

}  // namespace locus::cuda

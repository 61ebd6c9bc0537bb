#pragma once
// The device as a backend for passes that stay there (encoder_pass.h): one stream, and buffers without guards.
// For .cu files only.
#include "cuda/device_block.h"
#include "cuda/encoder/encoder_kernels.h"
#include "cuda/encoder/products.h"
#include "cuda/fused/fused_host.h"
#include "cuda/reference/device_backend.h"

namespace locus::cuda {

class Stream {
public:
    Stream() { LOCUS_CUDA_CHECK(cudaStreamCreate(&stream_)); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t get() const { return stream_; }
    void wait() const { LOCUS_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

template <class Scalar, class Source, int numbers>
__global__ void __launch_bounds__(128)
    norm_rows_kernel(const __grid_constant__ NormRowsArguments<Scalar, Source> args) {
    using Block = DeviceBlock<NormLane<numbers>>;
    Block block(nullptr);
    NormRows<Scalar, Source, numbers, Block>(block, args, static_cast<int>(blockIdx.x)).run();
}

class StreamBackend {
public:
    explicit StreamBackend(ProductsBy by) : products_(by) {}

    template <class Value>
    DeviceBuffer<Value> upload(const Value* host, std::size_t count) const {
        return {host, count};
    }
    template <class Value>
    DeviceBuffer<Value> allocate(std::size_t count) const {
        return DeviceBuffer<Value>(count);
    }
    template <class Value>
    void write(DeviceBuffer<Value>& to, const Value* host, std::size_t count) const {
        if (count == 0) return;
        LOCUS_CUDA_CHECK(
            cudaMemcpyAsync(to.data(), host, count * sizeof(Value), cudaMemcpyHostToDevice, stream_.get()));
    }
    template <class Kernel>
    void parallel_for(long long count, const Kernel& kernel) const {
        if (count == 0) return;
        parallel_for_kernel<<<blocks_for(count), kThreads, 0, stream_.get()>>>(count, kernel);
        LOCUS_CUDA_CHECK(cudaGetLastError());
    }
    template <class Scalar>
    void multiply(const ProductArguments<Scalar>& args) const {
        products_.multiply(args, stream_.get());
    }
    template <class Scalar>
    void attend(const ForwardArguments<Scalar>& args, int width) const {
        launch_fused_forward(args, width, stream_.get());
    }
    /// With as few registers as the channels need.
    template <class Scalar, class Source>
    void norm(const NormRowsArguments<Scalar, Source>& args) const {
        if (args.row <= 32 * 8) return norm_with<8>(args);
        if (args.row <= 32 * 16) return norm_with<16>(args);
        if (args.row <= 32 * 24) return norm_with<24>(args);
        if (args.row <= 32 * 32) return norm_with<32>(args);
        norm_with<kMostNormed / 32>(args);
    }

    const Stream& stream() const { return stream_; }
    const Products& products() const { return products_; }

private:
    template <int numbers, class Scalar, class Source>
    void norm_with(const NormRowsArguments<Scalar, Source>& args) const {
        using Norm = NormRows<Scalar, Source, numbers, DeviceBlock<NormLane<numbers>>>;
        const auto blocks = static_cast<unsigned>((args.rows + Norm::kWarps - 1) / Norm::kWarps);
        norm_rows_kernel<Scalar, Source, numbers><<<blocks, Norm::kThreads, 0, stream_.get()>>>(args);
        LOCUS_CUDA_CHECK(cudaGetLastError());
    }

    Stream stream_;
    Products products_;
};

}  // namespace locus::cuda

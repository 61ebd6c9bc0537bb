// Which kernel serves which product, and its start.
#include "cuda/encoder/products.h"

#include "cuda/device.h"
#include "cuda/device_block.h"
#include "cuda/encoder/cublas.h"
#include "cuda/encoder/product_kernels.h"
#include "cuda/fused/fused_host.h"
#include "cuda/reference/device_backend.h"

namespace locus::cuda {

namespace {

/// Two blocks on every multiprocessor: while one waits, the other multiplies.
template <class Scalar, int tile>
__global__ void __launch_bounds__(2 * tile, tile == 128 ? 2 : 4)
    tensor_product_kernel(const __grid_constant__ ProductArguments<Scalar> args) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<TensorProductLane<tile / 2>>;
    Block block(memory);
    TensorProduct<Scalar, tile, tile, Block>(block, args, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y))
        .run();
}

template <class Scalar>
__global__ void __launch_bounds__(256, 2) plain_product_kernel(const __grid_constant__ ProductArguments<Scalar> args) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<PlainProductLane>;
    Block block(memory);
    PlainProduct<Scalar, Block>(block, args, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y)).run();
}

int tiles(int count, int tile) { return (count + tile - 1) / tile; }

template <class Scalar>
dim3 grid(const ProductArguments<Scalar>& args, int tile) {
    const int across = tiles(args.columns, tile);
    if (across > 65535)
        throw Error(Fault::unsupported, "CUDA: a product with " + std::to_string(args.columns) +
                                            " columns, expected at most " + std::to_string(65535 * tile));
    return {static_cast<unsigned>(tiles(args.rows, tile)), static_cast<unsigned>(across)};
}

int multiprocessors() {
    int device = 0, count = 0;
    LOCUS_CUDA_CHECK(cudaGetDevice(&device));
    LOCUS_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
}

/// 0: plain.  Large tiles read less, but there must be enough of them for every multiprocessor.
template <class Scalar>
int chosen_tile(const ProductArguments<Scalar>& args) {
    if (!fits_tensor_cores(args)) return 0;
    const long long large = static_cast<long long>(tiles(args.rows, 128)) * tiles(args.columns, 128);
    return large >= multiprocessors() ? 128 : 64;
}

template <int tile, class Scalar>
void launch_tensor_product(const ProductArguments<Scalar>& args, cudaStream_t stream) {
    using Product = TensorProduct<Scalar, tile, tile, DeviceBlock<TensorProductLane<tile / 2>>>;
    static_assert(Product::kThreads == 2 * tile);
    const auto run = tensor_product_kernel<Scalar, tile>;
    allow_shared_bytes(run, Product::kBytes);
    run<<<grid(args, tile), Product::kThreads, Product::kBytes, stream>>>(args);
}

template <class Scalar>
void launch_plain_product(const ProductArguments<Scalar>& args, cudaStream_t stream) {
    using Product = PlainProduct<Scalar, DeviceBlock<PlainProductLane>>;
    plain_product_kernel<<<grid(args, Product::kTile), Product::kThreads, Product::kBytes, stream>>>(args);
}

template <class Scalar>
void launch_own(const ProductArguments<Scalar>& args, cudaStream_t stream) {
    const int tile = chosen_tile(args);
    if constexpr (!std::is_same_v<Scalar, float>) {
        if (tile == 128) launch_tensor_product<128>(args, stream);
        if (tile == 64) launch_tensor_product<64>(args, stream);
    }
    if (tile == 0) launch_plain_product(args, stream);
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

template <class Kernel>
void finish(const Kernel& kernel, cudaStream_t stream) {
    parallel_for_kernel<<<blocks_for(kernel.elements()), kThreads, 0, stream>>>(kernel.elements(), kernel);
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

template <class Scalar>
void multiply_by_cublas(Cublas& cublas, const ProductArguments<Scalar>& args, cudaStream_t stream) {
    BatchedProducts<Scalar> bare{args};
    bare.first.bias = nullptr;
    bare.first.activates = false;
    cublas.multiply(bare, stream);
    if (!args.bias && !args.activates) return;
    if (FinishKernel<Scalar, true>::fits(args))
        finish(FinishKernel<Scalar, true>{args}, stream);
    else
        finish(FinishKernel<Scalar, false>{args}, stream);
}

template <class Scalar>
DeviceBuffer<Scalar> upload_rounded(const Matrix<float>& matrix) {
    return upload<Scalar>(
        Tensor<float>({matrix.rows(), matrix.cols()}, {matrix.data(), matrix.data() + matrix.size()}));
}

template <class Scalar>
Matrix<float> product_of(const Matrix<float>& a, const Matrix<float>& b, const RowVector<float>& bias,
                         const Activation* activation, ProductsBy by) {
    const Products products(by);
    const auto there = upload_rounded<Scalar>(a), there_b = upload_rounded<Scalar>(b);
    const DeviceBuffer<float> there_bias(bias.data(), static_cast<std::size_t>(bias.size()));
    Tensor<float> c({a.rows(), b.rows()});
    DeviceBuffer<Scalar> there_c(static_cast<std::size_t>(c.size()));
    auto args = ProductArguments<Scalar>::whole(there.data(), there_b.data(), there_c.data(), narrow(a.rows()),
                                                narrow(b.rows()), narrow(a.cols()));
    if (bias.size() > 0) args.bias = there_bias.data();
    args.activates = activation != nullptr;
    if (activation) args.activation = *activation;
    products.multiply(args);
    LOCUS_CUDA_CHECK(cudaDeviceSynchronize());
    download(there_c, c);
    return c.rows();
}

}  // namespace

const char* name_of(ProductsBy by) { return by == ProductsBy::cublas ? "cublas" : "own"; }

Products::Products(ProductsBy by) : cublas_(by == ProductsBy::cublas ? std::make_unique<Cublas>() : nullptr) {}
Products::~Products() = default;

std::string Products::name() const { return cublas_ ? cublas_->name() : "own kernels"; }

template <class Scalar>
void Products::multiply(const ProductArguments<Scalar>& args, void* stream) const {
    if (args.rows == 0 || args.columns == 0) return;
    const auto at = static_cast<cudaStream_t>(stream);
    if (cublas_)
        multiply_by_cublas(*cublas_, args, at);
    else
        launch_own(args, at);
}

template <class Scalar>
std::string product_choice(const ProductArguments<Scalar>& args) {
    const int tile = chosen_tile(args);
    if (tile == 0) return "plain, tile 128 x 128";
    return "tensor cores, tile " + std::to_string(tile) + " x " + std::to_string(tile);
}

Matrix<float> product(const Matrix<float>& a, const Matrix<float>& b, const RowVector<float>& bias,
                      const Activation* activation, FusedPrecision precision, ProductsBy by) {
    check_width("product", a.cols(), b.cols());
    LOCUS_CHECK(bias.size() == 0 || bias.size() == b.rows(), "cuda::product: a bias of " + std::to_string(bias.size()) +
                                                                 ", expected " + std::to_string(b.rows()) + " or none");
    switch (precision) {
        case FusedPrecision::f16:
            return product_of<Half>(a, b, bias, activation, by);
        case FusedPrecision::bf16:
            return product_of<Bfloat16>(a, b, bias, activation, by);
        default:
            return product_of<float>(a, b, bias, activation, by);
    }
}

template void Products::multiply<float>(const ProductArguments<float>&, void*) const;
template void Products::multiply<Half>(const ProductArguments<Half>&, void*) const;
template void Products::multiply<Bfloat16>(const ProductArguments<Bfloat16>&, void*) const;
template std::string product_choice<float>(const ProductArguments<float>&);
template std::string product_choice<Half>(const ProductArguments<Half>&);
template std::string product_choice<Bfloat16>(const ProductArguments<Bfloat16>&);

}  // namespace locus::cuda

#pragma once
// c = a b^T + bias on the device, and the activation of it: by our own kernels (product_kernels.h) or by cuBLAS where
// it is installed.  The CPU has dense() of core/models/layers.h; the readable GPU kernel is that of
// cuda/reference/layers_kernels.h, one thread an element in a stated order.
#include <memory>
#include <string>

#include "core/tensor.h"
#include "cuda/encoder/product_arguments.h"
#include "cuda/fused/fused.h"

namespace locus::cuda {

class Cublas;

enum class ProductsBy { own, cublas };

/// "own" or "cublas".
const char* name_of(ProductsBy by);

class Products {
public:
    /// Throws Error(unsupported) in one sentence if cuBLAS is asked for and not found.
    explicit Products(ProductsBy by);
    ~Products();

    /// "own kernels", "cuBLAS 13.0.2"
    std::string name() const;
    /// On memory that lies on the device; does not wait.  stream: a cudaStream_t, or nullptr; may be under capture.
    /// Scalar: float, Half, Bfloat16.  Throws Error(unsupported) if a call fails.
    template <class Scalar>
    void multiply(const ProductArguments<Scalar>& args, void* stream = nullptr) const;

private:
    std::unique_ptr<Cublas> cublas_;  // none: own kernels
};

/// Tensor cores or plain, and the tile: "tensor cores, tile 128 x 128", for people.  Of the own kernels.
template <class Scalar>
std::string product_choice(const ProductArguments<Scalar>& args);

/// The same from host to host, rounded to the precision during the copy: a [m,k], b [n,k], bias [n] or empty -> [m,n].
/// activation: nullptr for none.  Throws Error(usage) for widths that differ, Error(unsupported) where there is no
/// device.
Matrix<float> product(const Matrix<float>& a, const Matrix<float>& b, const RowVector<float>& bias,
                      const Activation* activation, FusedPrecision precision, ProductsBy by);

}  // namespace locus::cuda

#pragma once
// cuBLAS, loaded at run time: programs that never use it need nothing but a driver, and those that do say in one
// sentence that it is missing.
#include <memory>
#include <string>
#include <vector>

#include "cuda/encoder/product_arguments.h"

namespace locus::cuda {

/// The same product for `count` pairs of matrices; `first` is that of the first pair, without bias and activation.
template <class Scalar>
struct BatchedProducts {
    ProductArguments<Scalar> first;
    int count = 1;
    long long a_stride = 0, b_stride = 0, c_stride = 0;  // from a matrix to the next
    bool b_transposed = true;                            // c = a b^T; false: c = a b, b [depth,columns]
};

class Cublas {
public:
    /// The names under which the library is looked for, the newest first.
    static const std::vector<std::string>& libraries();

    /// Throws Error(unsupported) if no library of these names can be loaded, or it does not start on this device.
    explicit Cublas(const std::vector<std::string>& names = libraries());
    ~Cublas();
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    /// "cuBLAS 13.0.2"
    std::string name() const;
    /// Waits for nothing.  Sums are float32, in float32 without TF32.  stream: a cudaStream_t, or nullptr; may be under
    /// capture.  Throws Error(unsupported) if the call fails.  Scalar: float, Half, Bfloat16.
    template <class Scalar>
    void multiply(const BatchedProducts<Scalar>& products, void* stream = nullptr);

private:
    struct Library;
    std::unique_ptr<Library> library_;
};

}  // namespace locus::cuda

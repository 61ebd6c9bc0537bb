#pragma once
// How a GPU counterpart is written: an element kernel, what one thread computes, and around it a function in namespace
// `reference` that checks sizes, copies, launches and copies back, over a backend that runs element kernels.
//
// A backend offers
//     Buffer<Value> upload(const Value* host, std::size_t count)    a copy of host values
//     Buffer<Value> allocate(std::size_t count)                     values not yet written: all bytes 0xFF, so NaN
//     void parallel_for(long long count, Kernel kernel)             kernel(n) for 0 <= n < count, in any order
//     void download(const Buffer<Value>& buffer, Value* host)       all of it back to the host
// The device is one (device_backend.h); tests have another that runs the same kernels on the host, so that everything
// but the copies and the launch is checked without a GPU.  Element kernels are constexpr, which both may call, and know
// nothing but pointers and sizes.
#include <limits>
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/tensor.h"
#include "cuda/reference/indexing.h"

namespace locus::cuda {

/// sum over c of a[c] * b[c], channel by channel from 0, product and sum rounded one by one, as on the CPU.
template <class Scalar>
constexpr Scalar dot(const Scalar* a, const Scalar* b, int channels) {
    Scalar sum = 0;
    for (int c = 0; c < channels; ++c) sum += a[c] * b[c];
    return sum;
}

/// A size as the kernels count.  Throws Error(unsupported) beyond 2^31 - 1.
inline int narrow(Index size) {
    if (size > std::numeric_limits<int>::max())
        throw Error(Fault::unsupported, "CUDA: a side of " + std::to_string(size) + ", expected at most " +
                                            std::to_string(std::numeric_limits<int>::max()));
    return static_cast<int>(size);
}

inline void check_width(const char* who, Index a, Index b) {
    LOCUS_CHECK(a == b, std::string("cuda::") + who + ": widths " + std::to_string(a) + " and " + std::to_string(b) +
                            " differ, expected the same");
}

inline void check_rows(const char* who, Index found, Index expected) {
    LOCUS_CHECK(found == expected, std::string("cuda::") + who + ": " + std::to_string(found) + " rows, expected " +
                                       std::to_string(expected));
}

template <class Backend, class Derived>
auto upload(const Backend& backend, const Eigen::PlainObjectBase<Derived>& values) {
    return backend.upload(values.data(), static_cast<std::size_t>(values.size()));
}

template <class Backend, class Value>
auto upload(const Backend& backend, const std::vector<Value>& values) {
    return backend.upload(values.data(), values.size());
}

/// Whole numbers as the kernels read them.
template <class Backend, class Whole>
auto upload_as_int(const Backend& backend, const std::vector<Whole>& values) {
    std::vector<int> narrowed;
    for (const Whole value : values) narrowed.push_back(narrow(static_cast<Index>(value)));
    return backend.upload(narrowed.data(), narrowed.size());
}

template <class Scalar, class Backend>
auto allocate(const Backend& backend, Index rows, Index cols) {
    return backend.template allocate<Scalar>(static_cast<std::size_t>(rows * cols));
}

template <class Backend, class Buffer>
auto download(const Backend& backend, const Buffer& buffer, Index rows, Index cols) {
    Matrix<typename Buffer::Scalar> matrix(rows, cols);
    backend.download(buffer, matrix.data());
    return matrix;
}

}  // namespace locus::cuda

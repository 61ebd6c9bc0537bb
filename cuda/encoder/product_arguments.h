#pragma once
// What a product of two matrices is given: plain pointers and sizes.
#include <cstddef>
#include <cstdint>

#include "core/models/activation.h"

namespace locus::cuda {

/// c = a b^T + bias, and the activation of it where there is one: a [rows,depth], b [columns,depth], c [rows,columns],
/// row-major.  Sums are float32.  Strides in elements.  All memory is the caller's, on the device.
template <class Scalar>
struct ProductArguments {
    const Scalar *a = nullptr, *b = nullptr;
    Scalar* c = nullptr;
    const float* bias = nullptr;  // [columns] or none
    int rows = 0, columns = 0, depth = 0;
    long long a_row = 0, b_row = 0, c_row = 0;  // from a row to the next
    bool activates = false;
    Activation activation = Activation::gelu;

    /// Matrices without gaps between their rows.
    static constexpr ProductArguments whole(const Scalar* a, const Scalar* b, Scalar* c, int rows, int columns,
                                            int depth) {
        return {a, b, c, nullptr, rows, columns, depth, depth, depth, columns};
    }
};

/// Can tensor cores have it?  They read 8 numbers of 16 bits at a time and write pairs.
template <class Scalar>
bool fits_tensor_cores(const ProductArguments<Scalar>& args) {
    const auto starts_at = [](const Scalar* data, std::size_t step) {
        return reinterpret_cast<std::uintptr_t>(data) % step == 0;
    };
    return sizeof(Scalar) == 2 && args.depth % 8 == 0 && args.columns % 2 == 0 && args.a_row % 8 == 0 &&
           args.b_row % 8 == 0 && args.c_row % 2 == 0 && starts_at(args.a, 16) && starts_at(args.b, 16) &&
           starts_at(args.c, 4);
}

}  // namespace locus::cuda

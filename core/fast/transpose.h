#pragma once
// Adding the transpose of a small tile, inside the registers.
#include "core/tensor.h"

namespace locus {

/// target(i, j) += source(j, i) for rows x cols values; both row-major with the given strides, in elements.
/// The bulk goes in blocks of one vector register squared; what is left over goes one by one.
template <class Scalar>
void add_transposed_tile(const Scalar* source, Index source_stride, Scalar* target, Index target_stride, Index rows,
                         Index cols);

}  // namespace locus

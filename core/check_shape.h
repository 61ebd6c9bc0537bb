#pragma once
// One refusal for every matrix of the wrong size.
#include <string>

#include "core/check.h"
#include "core/tensor.h"

namespace locus {

/// Throws Error(usage), "who: what is 2 x 3, expected 4 x 3", unless the matrix has these rows and columns.
template <class Derived>
void check_shape(const char* who, const char* what, const Eigen::MatrixBase<Derived>& matrix, Index rows, Index cols) {
    LOCUS_CHECK(matrix.rows() == rows && matrix.cols() == cols,
                std::string(who) + ": " + what + " is " + std::to_string(matrix.rows()) + " x " +
                    std::to_string(matrix.cols()) + ", expected " + std::to_string(rows) + " x " +
                    std::to_string(cols));
}

}  // namespace locus

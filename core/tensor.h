#pragma once
// Row-major matrices and small tensors, in float and double from one source.
//
// The legend of letters, everywhere in Locus:
//   B batch    T tokens   H heads      D model width   d head width   E embedding width   F feed-forward width
//   V words    k span     i query      j key           r row of the relative table        l layer   h head
// A suffix names the indices already fixed: scores_h is [T,T] of one head, q_i is [d] of one query.
#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"

namespace locus {

using Index = Eigen::Index;
using Shape = std::vector<Index>;

/// Row-major, because key j of query i must lie beside key j + 1.
template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// One row: a bias, a norm's weight, one query.
template <class Scalar>
using RowVector = Eigen::Matrix<Scalar, 1, Eigen::Dynamic, Eigen::RowMajor>;
/// A matrix that somebody else owns: parameters of functions, and the last two axes of a Tensor.
template <class Scalar>
using ConstView = Eigen::Ref<const Matrix<Scalar>>;
template <class Scalar>
using View = Eigen::Ref<Matrix<Scalar>>;

/// "[2, 7, 12]"
std::string to_string(const Shape& shape);
/// Product of the extents; 1 for a scalar.
Index element_count(const Shape& shape);

/// Row-major values of any rank; the last axis is contiguous.
template <class Scalar>
class Tensor {
public:
    Tensor() = default;
    explicit Tensor(Shape shape) : shape_(std::move(shape)), values_(static_cast<std::size_t>(element_count(shape_))) {}
    Tensor(Shape shape, std::vector<Scalar> values) : shape_(std::move(shape)), values_(std::move(values)) {
        LOCUS_CHECK(static_cast<Index>(values_.size()) == element_count(shape_),
                    "tensor: " + std::to_string(values_.size()) + " values do not fill the shape " + to_string(shape_));
    }

    const Shape& shape() const { return shape_; }
    Index rank() const { return static_cast<Index>(shape_.size()); }
    Index extent(Index axis) const { return shape_.at(static_cast<std::size_t>(axis)); }
    Index size() const { return static_cast<Index>(values_.size()); }
    bool empty() const { return values_.empty(); }
    Scalar* data() { return values_.data(); }
    const Scalar* data() const { return values_.data(); }
    const std::vector<Scalar>& values() const { return values_; }
    Scalar& operator[](Index flat) { return values_[static_cast<std::size_t>(flat)]; }
    const Scalar& operator[](Index flat) const { return values_[static_cast<std::size_t>(flat)]; }

    /// The whole tensor as one matrix: all leading axes become rows, e.g. [B,T,D] -> [B*T,D].
    Eigen::Map<Matrix<Scalar>> rows() { return {data(), size() / last(), last()}; }
    Eigen::Map<const Matrix<Scalar>> rows() const { return {data(), size() / last(), last()}; }

    /// The last two axes at one place of the leading ones; `at` counts them row-major: b of [B,T,D], b*H + h of
    /// [B,H,T,d].
    Eigen::Map<Matrix<Scalar>> matrix(Index at = 0) {
        return {data() + at * matrix_size(), extent(rank() - 2), last()};
    }
    Eigen::Map<const Matrix<Scalar>> matrix(Index at = 0) const {
        return {data() + at * matrix_size(), extent(rank() - 2), last()};
    }

private:
    Index last() const { return shape_.empty() ? 1 : (shape_.back() > 0 ? shape_.back() : 1); }
    Index matrix_size() const { return extent(rank() - 2) * last(); }

    Shape shape_;
    std::vector<Scalar> values_;
};

using IndexTensor = Tensor<std::int64_t>;

/// Tells the C library to keep the memory of tensors that are freed.  A training step frees what the next one asks for
/// again, and so does every hypothesis of a diagnosis; to get it from the kernel each time costs a fifth of a step and
/// a quarter of a diagnosis.  For programs, before they begin, and for their whole process; nothing where the library
/// is not glibc.
void keep_freed_memory();

/// Throws Error(usage), "who: what is 2 x 3, expected 4 x 3", unless the matrix has these rows and columns.
template <class Derived>
void check_shape(const char* who, const char* what, const Eigen::MatrixBase<Derived>& matrix, Index rows, Index cols) {
    LOCUS_CHECK(matrix.rows() == rows && matrix.cols() == cols,
                std::string(who) + ": " + what + " is " + std::to_string(matrix.rows()) + " x " +
                    std::to_string(matrix.cols()) + ", expected " + std::to_string(rows) + " x " +
                    std::to_string(cols));
}

}  // namespace locus

#pragma once
// A matrix at every level of detail: what stands for many cells when a cell is smaller than a pixel.
#include <map>
#include <memory>
#include <utility>

#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

/// A matrix that is not changed any more: one of another owner, kept alive here, or one of its own.
class SharedMatrix {
public:
    SharedMatrix() = default;
    /// Takes the values over, without a copy.
    SharedMatrix(Matrix<float>&& values);
    /// Copies them.
    template <class Derived>
    SharedMatrix(const Eigen::MatrixBase<Derived>& values) : SharedMatrix(Matrix<float>(values)) {}
    /// Looks at values that `owner` keeps alive, without a copy; their rows follow each other without gaps.
    SharedMatrix(std::shared_ptr<const void> owner, const ConstView<float>& values);

    Index rows() const { return rows_; }
    Index cols() const { return cols_; }
    Index size() const { return rows_ * cols_; }
    Eigen::Map<const Matrix<float>> values() const { return {data_, rows_, cols_}; }

private:
    std::shared_ptr<const void> owner_;
    const float* data_ = nullptr;
    Index rows_ = 0, cols_ = 0;
};

/// What a block of cells becomes when it is as small as one pixel.
enum class Pooling {
    mean,
    largest,  // the value farthest from 0: no single bright cell is lost, whatever its sign
    high,     // the greatest
    low,      // the least
};

/// Hidden cells hold no value.
struct CellLevel {
    Matrix<float> values;  // [rows, cols]
    Mask hidden;           // [rows, cols], 1 = the mask hides every cell of this block; empty: nothing is hidden
};

/// How often rows and columns are halved.
struct Detail {
    int rows = 0, cols = 0;
    bool operator==(const Detail&) const = default;
    auto operator<=>(const Detail&) const = default;
};

/// Levels are made when they are first asked for; the matrix itself is not copied.
class Pyramid {
public:
    Pyramid() = default;
    /// visible [rows, cols] or empty.  Throws if the shapes differ or a side is 0.
    Pyramid(SharedMatrix values, Mask visible, Pooling pooling);

    Pooling pooling() const { return pooling_; }
    /// Gives up the levels that were made another way.
    void pool_by(Pooling pooling);
    const SharedMatrix& base() const { return base_; }
    /// Halving a side n times leaves max(1, cells >> n) blocks, each of which covers its cells evenly; every cell
    /// belongs to exactly one block.  A block is what `pooling` makes of its visible cells; NaN anywhere among them
    /// stays NaN.  Detail{0, 0} is the matrix itself: ask base().
    const CellLevel& level(Detail detail);
    /// The finest detail at which a block covers a pixel at least, for so many cells per pixel down and across.
    Detail detail_for(double rows_per_pixel, double cols_per_pixel) const;
    /// 1 = hidden; empty: nothing is.
    const Mask& hidden() const { return hidden_; }

private:
    SharedMatrix base_;
    Mask hidden_;
    Pooling pooling_ = Pooling::mean;
    std::map<Detail, CellLevel> levels_;
};

}  // namespace locus

#pragma once
// Memory of the fast path that begins with a line of the cache.  A register of 64 bytes that straddles two lines takes
// twice as long to be loaded or stored, and what malloc gives begins 16 bytes after a line.
#include <cstddef>
#include <new>
#include <vector>

#include "core/tensor.h"

namespace locus {

template <class Number>
struct LineAllocator {
    using value_type = Number;
    static constexpr std::align_val_t kLine{64};

    LineAllocator() = default;
    template <class Other>
    LineAllocator(const LineAllocator<Other>&) {}
    Number* allocate(std::size_t count) {
        if (count > static_cast<std::size_t>(-1) / sizeof(Number)) throw std::bad_array_new_length();
        return static_cast<Number*>(::operator new(count * sizeof(Number), kLine));
    }
    void deallocate(Number* values, std::size_t) { ::operator delete(values, kLine); }
    template <class Other>
    bool operator==(const LineAllocator<Other>&) const {
        return true;
    }
};

template <class Scalar>
using AlignedVector = std::vector<Scalar, LineAllocator<Scalar>>;

/// Rows that a caller keeps from call to call.
template <class Scalar>
class AlignedRows {
public:
    /// What stood in them is lost.
    void resize(Index rows, Index cols) {
        values_.resize(static_cast<std::size_t>(rows * cols));
        rows_ = rows, cols_ = cols;
    }
    Index rows() const { return rows_; }
    Index cols() const { return cols_; }
    Scalar* data() { return values_.data(); }
    Eigen::Map<Matrix<Scalar>> view() { return {values_.data(), rows_, cols_}; }

private:
    AlignedVector<Scalar> values_;
    Index rows_ = 0, cols_ = 0;
};

}  // namespace locus

#pragma once
// Numbers in a std::vector with extents beside them: all that the toy ports compute with.
#include <string>
#include <utility>
#include <vector>

#include "core/trace.h"
#include "core/weights.h"

namespace locus::conformance::toy {

template <class Scalar>
struct Array {
    Shape shape;
    std::vector<Scalar> values;

    Array() = default;
    explicit Array(Shape extents) : shape(std::move(extents)) {
        std::size_t size = 1;
        for (const Index extent : shape) size *= static_cast<std::size_t>(extent);
        values.assign(size, Scalar(0));
    }
    Index extent(std::size_t axis) const { return shape.at(axis); }
    bool empty() const { return values.empty(); }
    Index width() const { return shape.back(); }
    /// How many runs of the last axis there are.
    Index runs() const { return width() == 0 ? 0 : static_cast<Index>(values.size()) / width(); }
    Scalar* run(Index n) { return values.data() + n * width(); }
    const Scalar* run(Index n) const { return values.data() + n * width(); }

    template <class... At>
    Scalar& operator()(At... at) {
        return values[place(at...)];
    }
    template <class... At>
    const Scalar& operator()(At... at) const {
        return values[place(at...)];
    }

private:
    template <class... At>
    std::size_t place(At... at) const {
        Index flat = 0;
        std::size_t axis = 0;
        ((flat = flat * shape[axis++] + static_cast<Index>(at)), ...);
        return static_cast<std::size_t>(flat);
    }
};

template <class Scalar>
Tensor<Scalar> as_stage(const Array<Scalar>& array) {
    return Tensor<Scalar>(array.shape, array.values);
}

/// A tensor of a checkpoint, copied; empty if the checkpoint does not have it.
template <class Scalar>
Array<Scalar> weight(const WeightSource& source, const std::string& name) {
    const auto shape = source.shape(name);
    if (!shape) return {};
    Array<Scalar> array(*shape);
    const Matrix<Scalar> rows = [&]() -> Matrix<Scalar> {
        if constexpr (std::is_same_v<Scalar, double>)
            return source.rows_f64(name, 0, shape->front());
        else
            return source.rows_f32(name, 0, shape->front());
    }();
    array.values.assign(rows.data(), rows.data() + rows.size());
    return array;
}

}  // namespace locus::conformance::toy

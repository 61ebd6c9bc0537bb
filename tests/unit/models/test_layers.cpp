// The small parts of every transformer.
#include <catch2/catch.hpp>

#include "core/models/layers.h"

namespace locus::test::test_layers {

TEMPLATE_TEST_CASE("layer norm: the same bits wherever the numbers lie in memory", "[layers]", float, double) {
    constexpr Index kRows = 3, kWidth = 29;  // no multiple of what a register holds
    const Matrix<TestType> values = Matrix<TestType>::Random(kRows, kWidth) * 100;
    const Norm<TestType> norm{RowVector<TestType>::Random(kWidth), RowVector<TestType>::Random(kWidth)};
    const Matrix<TestType> expected = layer_norm<TestType>(values, norm, 1e-7);
    std::vector<TestType> room(static_cast<std::size_t>(kRows * kWidth) + 16);
    for (std::size_t shift = 0; shift < 16; ++shift) {
        Eigen::Map<Matrix<TestType>> moved(room.data() + shift, kRows, kWidth);
        moved = values;
        CHECK(layer_norm<TestType>(ConstView<TestType>(moved), norm, 1e-7) == expected);
    }
}

}  // namespace locus::test::test_layers

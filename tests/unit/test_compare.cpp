#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/compare.h"

namespace locus::test::test_compare {

namespace {

Trace reference() {
    Trace trace;
    trace.add("relative.index", IndexTensor({2, 2}, {2, 1, 3, 2}));
    trace.add("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4}));
    trace.add("layer.0.probs", Tensor<double>({1, 1, 2, 2}, {0.5, 0.5, 0, 0}));
    return trace;
}

template <class Scalar>
Comparison with(const std::string& name, Tensor<Scalar> values) {
    Trace candidate;
    candidate.add(name, std::move(values));
    return compare(reference(), candidate);
}

}  // namespace

TEST_CASE("compare: a trace equals itself", "[compare]") { CHECK(compare(reference(), reference()).pass()); }

TEST_CASE("compare: rounding of the dtype passes, more does not", "[compare]") {
    CHECK(with("layer.0.q", Tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4.00001F})).pass());
    CHECK_FALSE(with("layer.0.q", Tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4.001F})).pass());
    CHECK_FALSE(with("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4.00001})).pass());
}

TEST_CASE("compare: NaN never passes, not even where the reference is NaN", "[compare]") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(with("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1, nan, 3, 4})).pass());
    Trace both;
    both.add("layer.0.q", Tensor<double>({1}, {nan}));
    CHECK_FALSE(compare(both, both).pass());
    Trace infinite;
    infinite.add("layer.0.q", Tensor<double>({1}, {std::numeric_limits<double>::infinity()}));
    CHECK_FALSE(compare(infinite, infinite).pass());
    Trace candidate;
    candidate.add("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1, nan, 3, 4}));
    CHECK_FALSE(compare(reference(), candidate, Tolerance{1e300, 1e300}).pass());
}

TEST_CASE("compare: wrong shape and wrong dtype never pass", "[compare]") {
    const Comparison shape = with("layer.0.q", Tensor<double>({1, 2, 1, 2}, {1, 2, 3, 4}));
    CHECK_FALSE(shape.pass());
    CHECK(shape.first()->reason == "shape [1, 2, 1, 2] instead of [1, 1, 2, 2]");
    const Comparison dtype = with("relative.index", Tensor<double>({2, 2}, {2, 1, 3, 2}));
    CHECK_FALSE(dtype.pass());
    CHECK(dtype.first()->reason == "dtype F64 instead of I64");
    CHECK_FALSE(with("layer.0.q", IndexTensor({1, 1, 2, 2}, {1, 2, 3, 4})).pass());
    CHECK_FALSE(with("relative.index", IndexTensor({2, 2}, {2, 1, 3, 1})).pass());
}

TEST_CASE("compare: the first wrong stage stands in model order, with its worst cell", "[compare]") {
    Trace candidate;
    candidate.add("layer.0.probs", Tensor<double>({1, 1, 2, 2}, {0.4, 0.6, 0, 0}));
    candidate.add("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1, 2.5, 9, 4}));
    const Comparison comparison = compare(reference(), candidate);
    REQUIRE(comparison.first());
    CHECK(comparison.first()->name == "layer.0.q");
    CHECK(comparison.first()->worst_index == std::vector<Index>{0, 0, 1, 0});
    CHECK(comparison.first()->expected == 3);
    CHECK(comparison.first()->found == 9);
    CHECK(comparison.first()->wrong == 2);
    CHECK(comparison.missing == std::vector<std::string>{"relative.index"});
}

TEST_CASE("compare: stages are judged only where both have them, and there must be one", "[compare]") {
    CHECK(with("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4})).pass());
    CHECK_THROWS_AS(with("layer.5.q", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4})), Error);
}

TEST_CASE("compare: half precision in the file widens the tolerance, and says by how much", "[compare]") {
    Trace candidate;
    candidate.add("layer.0.q", Tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4.004F}));
    CHECK_FALSE(compare(reference(), candidate).pass());
    CHECK(compare(reference(), candidate, std::nullopt, {{"layer.0.q", "F16"}}).pass());
}

}  // namespace locus::test::test_compare

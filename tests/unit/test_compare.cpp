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
    Trace one, none;  // without axes a tensor holds one number; one that was never filled holds none
    one.add("layer.0.q", Tensor<double>(Shape{}));
    none.add("layer.0.q", Tensor<double>());
    const Comparison empty = compare(one, none);
    CHECK_FALSE(empty.pass());
    CHECK(empty.first()->reason == "0 numbers instead of 1");
    const Comparison dtype = with("relative.index", Tensor<double>({2, 2}, {2, 1, 3, 2}));
    CHECK_FALSE(dtype.pass());
    CHECK(dtype.first()->reason == "dtype F64 instead of I64");
    Trace whole;
    whole.add("layer.0.q", IndexTensor({1, 1, 2, 2}, {1, 2, 3, 4}));
    const Comparison as_stored = compare(reference(), whole, std::nullopt, {{"layer.0.q", "U8"}});
    CHECK_FALSE(as_stored.pass());
    CHECK(as_stored.first()->reason == std::string("dtype U8 instead of ") + reference().at("layer.0.q").dtype());
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

TEST_CASE("compare: numbers that are less exact than their dtype are seen", "[compare]") {
    const auto trace_of = [](const auto& round, float largest = 65504) {
        Trace trace;
        Tensor<float> values({5, 8});
        for (Index n = 0; n < values.size(); ++n) values[n] = round(std::sin(1.0f + static_cast<float>(n)));
        trace.add("layer.0.q", values);
        trace.add("layer.0.k", Tensor<float>({2}, {0, -largest}));
        return trace;
    };
    const auto kept = [](int bits) {  // rounded to so many bits
        return [bits](float value) {
            int exponent = 0;
            const float mantissa = std::frexp(value, &exponent);
            return std::ldexp(std::round(std::ldexp(mantissa, bits)), exponent - bits);
        };
    };
    CHECK(narrower_dtype(trace_of(kept(24))) == "");
    CHECK(narrower_dtype(trace_of(kept(11))) == "F16");
    CHECK(narrower_dtype(trace_of(kept(12))) == "");
    CHECK(narrower_dtype(trace_of(kept(8))) == "F16");      // 65504 is no number of BF16
    CHECK(narrower_dtype(trace_of(kept(8), 1)) == "BF16");  // halves would not all end with three zeros
    CHECK(narrower_dtype(trace_of([&](float value) { return kept(8)(value * 1e-9f); }, 1)) == "BF16");
    CHECK(narrower_dtype(trace_of(kept(8), 98304)) == "BF16");
    CHECK(narrower_dtype(trace_of(kept(9), 98304)) == "");
    CHECK(narrower_dtype(trace_of(kept(11)), {{"layer.0.q", "F16"}, {"layer.0.k", "F16"}}) == "");
    CHECK(narrower_dtype(trace_of(kept(24)), {{"layer.0.q", "F64"}, {"layer.0.k", "F64"}}) == "F32");
    // Multiples of 1/64 are halves by themselves, and say nothing.
    CHECK(narrower_dtype(trace_of([](float value) { return std::round(value * 64) / 64; })) == "");
    Trace small;
    small.add("layer.0.q", Tensor<float>({2}, {0.30004883f, 0.2998047f}));
    CHECK(narrower_dtype(small) == "");

    const Trace halves = trace_of(kept(11));
    const auto stored = stored_as(halves, "F16", {{"layer.0.q", "F32"}});
    CHECK(stored == std::map<std::string, std::string>{{"layer.0.q", "F16"}, {"layer.0.k", "F16"}});
    CHECK(stored_as(halves, "", {{"layer.0.q", "F32"}}).at("layer.0.q") == "F32");
    const Comparison plain = compare(trace_of(kept(24)), halves);
    CHECK_FALSE(plain.pass());
    CHECK(compare(trace_of(kept(24)), halves, std::nullopt, stored).pass());
}

TEST_CASE("compare: where one stage shows that numbers are as exact as their dtype, no other is read", "[compare]") {
    const auto stage = [](float digits) {
        Tensor<float> values({4, 8});
        for (Index n = 0; n < values.size(); ++n)
            values[n] = std::round(std::sin(1.0f + static_cast<float>(n)) * digits) / digits;
        return values;
    };
    const auto stages_read = [&](float digits) {
        int read = 0;
        const TraceView file({{"layer.0.q", {4, 8}}, {"layer.0.k", {4, 8}}, {"layer.0.v", {4, 8}}}, [&](std::size_t n) {
            ++read;
            Trace one;
            one.add(n == 0 ? "layer.0.q" : n == 1 ? "layer.0.k" : "layer.0.v", stage(digits));
            return one.stages().front();
        });
        narrower_dtype(file);
        return read;
    };
    CHECK(stages_read(1e7f) == 1);
    CHECK(stages_read(1024) == 3);  // halves, as far as one sees
}

TEST_CASE("compare: a stage whose values are as small as its tolerance passes loosely", "[compare]") {
    Trace expected, found;
    expected.add("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1e-16, -3e-16, 0, 2e-16}));
    found.add("layer.0.q", Tensor<double>({1, 1, 2, 2}, {0, 0, 0, 0}));
    expected.add("layer.0.k", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4}));
    found.add("layer.0.k", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4}));
    const Comparison comparison = compare(expected, found);
    CHECK(comparison.pass());
    CHECK(comparison.loose() == std::vector<std::string>{"layer.0.q"});
    CHECK(comparison.stages[0].largest == 3e-16);
    CHECK(compare(expected, expected, Tolerance{1e-9, 0}).loose().empty());
}

TEST_CASE("compare: a reference that is less exact than rounding explains is not held against a port", "[compare]") {
    Trace expected, found;
    expected.add("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4}));
    found.add("layer.0.q", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4 + 4e-6}));
    CHECK_FALSE(compare(expected, found).pass());
    CHECK(compare(expected, found, std::nullopt, {}, {}, 1e-6).pass());
    CHECK_FALSE(compare(expected, found, std::nullopt, {}, {}, 1e-7).pass());
    CHECK(compare(expected, found, std::nullopt, {}, {}, 1e-18).stages[0].tolerance.absolute > 1e-16);
}

}  // namespace locus::test::test_compare

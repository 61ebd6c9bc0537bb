// Right formulas give what foreign code computed; wrong indices have the numbers that were counted by hand.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/conformance/catalogue_ports.h"

namespace locus::test::test_catalogue_numbers {

using namespace locus::conformance;

namespace {

/// relative.index of T tokens under a variant (0: right), for clamped offsets or log buckets.
Tensor<double> index_of(const RelativeBuckets& line, int number, std::size_t variant = 0) {
    Trace reference;
    Stage stage;
    stage.name = "relative.index";
    stage.values = line.matrix();
    reference.add(stage);
    const Trace silent;
    const Evidence evidence{reference, silent, nullptr, {}};
    if (number == 0) return widened(stage);
    return Replay(evidence, "", mistake_of(number).variants.at(variant).formulas).computed("/relative.index");
}

RelativeBuckets clamped(Index length, Index span) { return RelativeBuckets::clamped(length, length, span); }
RelativeBuckets buckets(Index length, Index b, Index m) {
    return RelativeBuckets::logarithmic(length, length, b, m, OffsetClamp::official);
}

std::vector<double> row(const Tensor<double>& index, Index i) {
    const Index keys = index.extent(1);
    return {index.values().begin() + i * keys, index.values().begin() + (i + 1) * keys};
}

using Row = std::vector<double>;

/// Distances x = 0 ... 511 whose row differs, on the side where queries follow their keys.
std::vector<Index> differing(int number, std::size_t variant) {
    const RelativeBuckets line = buckets(512, 256, 512);
    const Tensor<double> wrong = index_of(line, number, variant);
    std::vector<Index> distances;
    for (Index x = 0; x < 512; ++x)
        if (wrong[x * 512] != static_cast<double>(line.row_of_offset(x))) distances.push_back(x);
    return distances;
}

}  // namespace

TEST_CASE("catalogue: right formulas give every recorded stage of a layer, masks and clamps as recorded", "[kit]") {
    for (const RecordedPort& one : recorded_cases()) {
        const Trace silent;
        const Evidence evidence{one.reference, silent, one.model, one.segments};
        const Replay replay(evidence, "layer.0.");
        for (const std::string& stem : every_stem()) {
            const Stage* stage = one.reference.find(stem.starts_with('/') ? stem.substr(1) : "layer.0." + stem);
            if (!stage) continue;
            INFO(one.name << " " << stem);
            const Tensor<double> expected = widened(*stage), computed = replay.computed(stem);
            REQUIRE(expected.shape() == computed.shape());
            double worst = 0;
            for (Index n = 0; n < expected.size(); ++n)
                worst = std::max(worst, std::abs(expected[n] - computed[n]) / std::max(1.0, std::abs(expected[n])));
            CHECK(worst <= (stem == "/relative.index" ? 0 : 3e-6));
        }
    }
}

TEST_CASE("catalogue: wrong clamped indices", "[kit]") {
    const RelativeBuckets line = clamped(6, 3);
    CHECK(row(index_of(line, 0), 0) == Row{3, 2, 1, 0, 0, 0});
    CHECK(row(index_of(line, 0), 5) == Row{5, 5, 5, 5, 4, 3});
    for (const int number : {4, 5}) CHECK(row(index_of(line, number), 0) == Row{3, 4, 5, 5, 5, 5});
    CHECK(row(index_of(line, 7, 0), 0) == Row{2, 1, 0, 0, 0, 0});
    CHECK(row(index_of(line, 7, 1), 0) == Row{4, 3, 2, 1, 0, 0});
    CHECK(row(index_of(line, 7, 2), 5) == Row{4, 4, 4, 4, 3, 2});
    CHECK(row(index_of(line, 7, 3), 0) == Row{4, 3, 2, 1, 1, 1});
    CHECK(row(index_of(line, 8), 5) == Row{6, 6, 6, 5, 4, 3});
    CHECK(row(index_of(line, 9, 0), 0) == Row{3, 2, 1, 1, 1, 1});
    CHECK(row(index_of(line, 9, 1), 0) == Row{3, 2, 1, 0, 5, 4});  // k + 1 at T = 2k
    CHECK(row(index_of(line, 9, 2), 0) == Row{3, 2, 1, 0, -1, -2});
    CHECK(row(index_of(line, 10, 0), 5) == Row{5, 5, 0, 0, 0, 0});
    CHECK(row(index_of(line, 10, 1), 5) == Row{5, 5, 5, 0, 0, 0});
    CHECK(row(index_of(line, 12, 0), 2) == Row{5, 4, 3, 4, 5, 5});
    CHECK(row(index_of(line, 12, 1), 2) == Row{1, 2, 3, 2, 1, 0});
    CHECK(row(index_of(line, 12, 2), 2) == Row{2, 1, 0, 1, 2, 3});
    // A text shorter than the span: k = 5, s = 3, so every row is 2 off.
    CHECK(row(index_of(clamped(3, 5), 0), 1) == Row{6, 5, 4});
    CHECK(row(index_of(clamped(3, 5), 11, 0), 1) == Row{4, 3, 2});
    CHECK(row(index_of(clamped(3, 5), 11, 1), 1) == Row{8, 7, 6});
    CHECK(row(index_of(clamped(3, 5), 11, 2), 1) == Row{7, 7, 6});
    // Spec 11: six tokens, the span is 3 whatever k is.
    CHECK(row(index_of(clamped(6, 20), 13), 0) == Row{3, 2, 1, 0, 0, 0});
    CHECK(row(index_of(clamped(7, 20), 13, 0), 6) == Row{6, 6, 6, 6, 5, 4, 3});
    CHECK(row(index_of(clamped(7, 20), 13, 1), 6) == Row{5, 5, 5, 5, 5, 4, 3});
    // Two queries and three keys: 4 5 6 / 3 4 5 would be right for keys; [3,2] holds 4 3 5 4 6 5.
    CHECK(row(index_of(RelativeBuckets::clamped(2, 3, 4), 15), 0) == Row{4, 3, 5});
    CHECK(row(index_of(RelativeBuckets::clamped(2, 3, 4), 15), 1) == Row{4, 6, 5});
}

TEST_CASE("catalogue: wrong log buckets, as counted for b = 256 and M = 512", "[kit]") {
    CHECK(differing(16, 0).size() == 382);
    CHECK(differing(16, 0).front() == 129);
    CHECK(differing(17, 0).size() == 45);
    CHECK(differing(17, 0).front() == 170);
    CHECK(differing(17, 0).back() == 506);
    const RelativeBuckets line = buckets(512, 256, 512);
    const Tensor<double> right = index_of(line, 0), floored = index_of(line, 16), centred = index_of(line, 18),
                         divided = index_of(line, 20);
    for (Index x = 1; x < 512; ++x) {
        INFO(x);
        CHECK((floored[x * 512] == right[x * 512] || floored[x * 512] == right[x * 512] - 1));
        CHECK((floored[x] == right[x] || floored[x] == right[x] + 1));
        if (x >= 128 && x < 256) CHECK(divided[x * 512] == 256 + 128);
    }
    CHECK(centred[0] == 512);
    // Right keys beyond 128: NaN to row 0, to the centre, to -128, and no sign: rows of 0, 256, 128 and the mirror.
    for (const auto& [variant, at_150] :
         std::vector<std::pair<std::size_t, double>>{{0, 0}, {1, 256}, {2, 128}, {3, 399}}) {
        const Tensor<double> one_sided = index_of(line, 19, variant);
        CHECK(one_sided[150] == at_150);
        CHECK(one_sided[128] == right[128]);
        CHECK(one_sided[150 * 512] == right[150 * 512]);
    }
    // The far end alone: rows 511 and 1 are right at distance 511.
    const Tensor<double> inside = index_of(line, 21, 0), past = index_of(line, 21, 1);
    CHECK(inside[511 * 512] == 511);
    CHECK(inside[511] == 0);
    CHECK(past[511 * 512] == 512);
    CHECK(inside[510] == right[510]);
}

}  // namespace locus::test::test_catalogue_numbers

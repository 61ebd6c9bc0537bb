#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/positions/rope_decay.h"
#include "tests/files.h"

namespace locus::test::test_rope_decay {

TEST_CASE("rope decay: golden bounds B(r)", "[rope][golden]") {
    const std::vector<double> distances = {0, 1, 2, 5, 10, 20, 50, 100, 200, 250, 500};
    const std::map<Index, std::vector<double>> golden = {
        {64,
         {16.5, 15.947764, 14.484515, 10.427632, 8.814334, 8.010578, 5.733077, 7.465277, 3.860478, 3.6687, 3.043376}},
        {128,
         {32.5, 31.538166, 28.955988, 20.845358, 17.954137, 15.24243, 12.629452, 10.22733, 7.244771, 6.548179,
          6.189791}},
        {768,
         {192.5, 187.395109, 173.525311, 125.45101, 109.263854, 90.32309, 67.137911, 52.754606, 40.415901, 37.278045,
          27.764416}}};
    for (const auto& [width, bounds] : golden)
        for (std::size_t n = 0; n < distances.size(); ++n)
            CHECK(std::abs(decay_bound(inverse_frequencies(width), distances[n]) - bounds[n]) <= 1e-6);
    const double small[] = {1.5, 1.379969, 1.04869, 0.585691, 0.897879, 1.285933};
    for (int r = 0; r < 6; ++r) CHECK(std::abs(decay_bound(inverse_frequencies(4), r) - small[r]) <= 1e-6);
}

TEST_CASE("rope decay: the bound is not monotone, d = 64 first rises at 12 and in 233 of 512 steps", "[rope][golden]") {
    const std::vector<double> theta = inverse_frequencies(64);
    int rises = 0, first = 0;
    for (int r = 1; r <= 512; ++r)
        if (decay_bound(theta, r) > decay_bound(theta, r - 1)) {
            ++rises;
            if (first == 0) first = r;
        }
    CHECK(first == 12);
    CHECK(rises == 233);
}

TEST_CASE("rope decay: the curve is the score of rotated vectors and stays below its bound", "[rope][law]") {
    const Index width = 16, count = 300;
    const std::vector<double> theta = inverse_frequencies(width);
    for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split}) {
        const RowVector<double> q = RowVector<double>::Random(width), k = RowVector<double>::Random(width);
        const std::vector<double> curve = score_curve(q, k, theta, layout, count);
        const std::vector<double> bound = score_bound(q, k, theta, layout, count);
        const Matrix<double> turned =
            rotate<double>(q.replicate(count, 1), rotary_table<double>(theta, 0, count), layout);
        for (Index r = 0; r < count; ++r) {
            const auto at = static_cast<std::size_t>(r);
            CHECK(std::abs(curve[at] - turned.row(r).dot(k)) <= 1e-12);
            CHECK(std::abs(curve[at]) <= bound[at] + 1e-12);
        }
    }
}

TEST_CASE("rope decay: for q = k = ones only the last step of Abel's sum is left, and the bound is B(r)",
          "[rope][law]") {
    // h_t = 2 in every plane, so |h_{t+1} - h_t| is 0 but for h_{d/2} = 0: the bound is 2 (d/2) B(r).
    const std::vector<double> theta = inverse_frequencies(12);
    const RowVector<double> ones = RowVector<double>::Ones(12);
    const std::vector<double> bound = score_bound(ones, ones, theta, RotaryLayout::interleaved, 20);
    for (std::size_t r = 0; r < 20; ++r)
        CHECK(std::abs(bound[r] - 12 * decay_bound(theta, static_cast<double>(r))) <= 1e-12);
}

TEST_CASE("rope decay: vectors of another width are refused", "[rope][bad]") {
    const RowVector<double> q = RowVector<double>::Ones(6);
    CHECK(test::refusal([&] { score_curve(q, q, inverse_frequencies(8), RotaryLayout::interleaved, 4); }, Fault::usage)
              .find("expected 8") != std::string::npos);
    CHECK(test::refusal([&] { decay_bound({}, 1); }, Fault::usage).find("no angles") != std::string::npos);
}

}  // namespace locus::test::test_rope_decay

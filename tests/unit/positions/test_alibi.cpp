#include "core/positions/alibi.h"
#include "tests/files.h"
#include "tests/naive_reference.h"

namespace locus::test::test_alibi {

TEST_CASE("alibi: golden slopes of 8 and 12 heads", "[alibi][golden]") {
    const std::vector<double> eight = alibi_slopes(8), twelve = alibi_slopes(12);
    CHECK(eight == std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
    REQUIRE(twelve.size() == 12);
    CHECK(std::equal(eight.begin(), eight.end(), twelve.begin()));
    const double rest[] = {0.707107, 0.353553, 0.176777, 0.088388};
    for (std::size_t h = 0; h < 4; ++h) CHECK(std::abs(twelve[8 + h] - rest[h]) <= 5e-7);
}

TEST_CASE("alibi: slopes of a power of two are geometric and end at 2^-8", "[alibi][law]") {
    for (const Index heads : {1, 2, 4, 8, 16, 32, 64}) {
        const std::vector<double> slopes = alibi_slopes(heads);
        REQUIRE(std::ssize(slopes) == heads);
        CHECK(slopes.back() == std::exp2(-8));
        for (std::size_t h = 0; h < slopes.size(); ++h)
            CHECK(slopes[h] == Approx(std::pow(slopes[0], h + 1)).epsilon(1e-14));
    }
}

TEST_CASE("alibi: any number of heads has as many slopes, all different and between 0 and 1", "[alibi][law]") {
    for (Index heads = 1; heads <= 70; ++heads) {
        std::vector<double> slopes = alibi_slopes(heads);
        REQUIRE(std::ssize(slopes) == heads);
        std::sort(slopes.begin(), slopes.end());
        CHECK(std::adjacent_find(slopes.begin(), slopes.end()) == slopes.end());
        CHECK((slopes.front() > 0 && slopes.back() < 1));
    }
}

TEST_CASE("alibi: the bias is minus slope times distance, in one direction or both", "[alibi][law]") {
    const std::vector<double> slopes = alibi_slopes(6);
    for (const AlibiForm form : {AlibiForm::causal, AlibiForm::symmetric}) {
        const OffsetBias<double> line = alibi_line<double>(6, 4, 7, form);
        for (Index h = 0; h < 6; ++h) {
            const Matrix<double> bias = line.matrix(h);
            REQUIRE((bias.rows() == 4 && bias.cols() == 7));
            for (Index i = 0; i < 4; ++i)
                for (Index j = 0; j < 7; ++j) {
                    const auto distance = static_cast<double>(j <= i ? i - j : j - i);
                    const bool hidden = form == AlibiForm::causal && j > i;
                    CHECK(bias(i, j) == (hidden ? 0 : -slopes[static_cast<std::size_t>(h)] * distance));
                }
        }
    }
    CHECK(alibi_line<float>(8, 3, 3, AlibiForm::symmetric).matrix(0) ==
          Matrix<float>{{0, -0.5, -1}, {-0.5, 0, -0.5}, {-1, -0.5, 0}});
}

TEST_CASE("alibi: no heads and no tokens are refused with one sentence", "[alibi][bad input]") {
    CHECK(refusal([] { alibi_slopes(0); }, Fault::usage) == "alibi_slopes: 0 heads, expected 1 or more");
    CHECK(refusal([] { alibi_line<float>(-1, 3, 3, AlibiForm::causal); }, Fault::usage) ==
          "alibi_slopes: -1 heads, expected 1 or more");
    CHECK(refusal([] { alibi_line<float>(2, 0, 3, AlibiForm::causal); }, Fault::usage) ==
          "alibi_line: 2 heads, 0 queries and 3 keys, expected 1 or more of each");
    CHECK(refusal([] { alibi_line<float>(2, 3, 3, AlibiForm::causal).matrix(2); }, Fault::usage) ==
          "bias line: head 2, expected 0 to 1");
}

}  // namespace locus::test::test_alibi

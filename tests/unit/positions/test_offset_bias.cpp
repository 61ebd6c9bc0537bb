#include "core/positions/offset_bias.h"
#include "tests/files.h"
#include "tests/naive_reference.h"

namespace locus::test::test_offset_bias {

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
        const OffsetBias<double> line = alibi_bias<double>(6, 4, 7, form);
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
    CHECK(alibi_bias<float>(8, 3, 3, AlibiForm::symmetric).matrix(0) ==
          Matrix<float>{{0, -0.5, -1}, {-0.5, 0, -0.5}, {-1, -0.5, 0}});
}

TEST_CASE("alibi: no heads and no tokens are refused with one sentence", "[alibi][bad input]") {
    CHECK(refusal([] { alibi_slopes(0); }, Fault::usage) == "alibi_slopes: 0 heads, expected 1 or more");
    CHECK(refusal([] { alibi_bias<float>(-1, 3, 3, AlibiForm::causal); }, Fault::usage) ==
          "alibi_slopes: -1 heads, expected 1 or more");
    CHECK(refusal([] { alibi_bias<float>(2, 0, 3, AlibiForm::causal); }, Fault::usage) ==
          "alibi_bias: 2 heads, 0 queries and 3 keys, expected 1 or more of each");
    CHECK(refusal([] { alibi_bias<float>(2, 3, 3, AlibiForm::causal).matrix(2); }, Fault::usage) ==
          "offset bias: head 2, expected 0 to 1");
}

TEST_CASE("t5: golden buckets, both directions", "[t5][golden]") {
    const std::vector<std::pair<int, int>> golden = {{-200, 15}, {-128, 15}, {-64, 14}, {-20, 10}, {-8, 8},  {-7, 7},
                                                     {-1, 1},    {0, 0},     {1, 17},   {7, 23},   {8, 24},  {16, 26},
                                                     {20, 26},   {64, 30},   {127, 31}, {128, 31}, {200, 31}};
    for (const auto& [offset, bucket] : golden) {
        INFO("offset " << offset);
        CHECK(t5_bucket(offset, {}) == bucket);
    }
}

TEST_CASE("t5: golden buckets of a decoder", "[t5][golden]") {
    const std::vector<std::pair<int, int>> golden = {{-200, 31}, {-64, 26}, {-20, 17}, {-16, 16}, {-15, 15},
                                                     {-1, 1},    {0, 0},    {1, 0},    {5, 0}};
    for (const auto& [offset, bucket] : golden) {
        INFO("offset " << offset);
        CHECK(t5_bucket(offset, {32, 128, false}) == bucket);
    }
}

TEST_CASE("t5: buckets never fall with distance, and every one is used", "[t5][law]") {
    for (const T5Buckets& config : {T5Buckets{}, T5Buckets{32, 128, false}, T5Buckets{8, 20, true},
                                    T5Buckets{4, 3, true}, T5Buckets{2, 2, false}}) {
        std::vector<bool> used(static_cast<std::size_t>(config.buckets));
        for (const int sign : {-1, 1}) {
            Index before = t5_bucket(0, config);
            CHECK(before == 0);
            for (int distance = 0; distance <= 2 * config.max_distance; ++distance) {
                const Index bucket = t5_bucket(sign * distance, config);
                REQUIRE((bucket >= before && bucket < config.buckets));
                used[static_cast<std::size_t>(bucket)] = true;
                before = bucket;
            }
            if (config.bidirectional || sign == -1)
                CHECK(before == (sign == -1 && config.bidirectional ? config.buckets / 2 : config.buckets) - 1);
        }
        // The key beside the query on the right has the second bucket of the upper half: the first one has no distance.
        for (Index b = 0; b < config.buckets; ++b) {
            INFO(config.buckets << " buckets, bucket " << b);
            CHECK(used[static_cast<std::size_t>(b)] == !(config.bidirectional && b == config.buckets / 2));
        }
    }
}

TEST_CASE("t5: the line is the table's row of the bucket", "[t5][law]") {
    const T5Buckets config{8, 20, true};
    const Matrix<double> table = random_rows(8, 3, 1);
    const OffsetBias<double> line = t5_bias<double>(table, 5, 30, config);
    const IndexTensor index = t5_index(5, 30, config);
    REQUIRE(line.heads() == 3);
    for (Index h = 0; h < 3; ++h) {
        const Matrix<double> bias = line.matrix(h);
        REQUIRE((bias.rows() == 5 && bias.cols() == 30));
        for (Index i = 0; i < 5; ++i)
            for (Index j = 0; j < 30; ++j) {
                REQUIRE(bias(i, j) == table(t5_bucket(j - i, config), h));
                REQUIRE(bias(i, j) == line.at(h, i, j));
                REQUIRE(index[i * 30 + j] == t5_bucket(j - i, config));
            }
    }
}

TEST_CASE("t5: impossible buckets are refused with one sentence", "[t5][bad input]") {
    const auto sentence = [](const T5Buckets& config) { return refusal([&] { t5_bucket(3, config); }, Fault::usage); };
    CHECK(sentence({31, 128, true}) == "t5_bucket: buckets is 31, expected an even number of 4 or more");
    CHECK(sentence({2, 128, true}) == "t5_bucket: buckets is 2, expected an even number of 4 or more");
    CHECK(sentence({0, 128, false}) == "t5_bucket: buckets is 0, expected an even number of 2 or more");
    CHECK(sentence({32, 8, true}) ==
          "t5_bucket: max_distance is 8, expected more than the 8 distances with a bucket of their own");
    const Matrix<float> table = Matrix<float>::Zero(31, 2), none(32, 0);
    CHECK(refusal([&] { t5_bias<float>(table, 3, 3, {}); }, Fault::usage) ==
          "t5_bias: the table has 31 rows, expected one per bucket = 32");
    CHECK(refusal([&] { t5_bias<float>(none, 3, 3, {}); }, Fault::usage) ==
          "t5_bias: 0 heads, 3 queries and 3 keys, expected 1 or more of each");
    CHECK(refusal([] { t5_index(3, 0, {}); }, Fault::usage) ==
          "t5_index: queries is 3 and keys 0, expected 1 or more of each");
}

}  // namespace locus::test::test_offset_bias

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "core/positions/relative_buckets.h"

namespace locus::test::test_relative_buckets {

TEST_CASE("relative_buckets: the seed's 7x7 matrix", "[relative_buckets][golden]") {
    const RelativeBuckets buckets = RelativeBuckets::clamped(7, 7, 7);
    for (Index i = 0; i < 7; ++i)
        for (Index j = 0; j < 7; ++j) CHECK(buckets.row(i, j) == i - j + 7);
    CHECK(buckets.row(0, 6) == 1);
    CHECK(buckets.row(6, 0) == 13);
}

TEST_CASE("relative_buckets: with k = 3 both ends are clamped", "[relative_buckets][golden]") {
    const int expected[7][7] = {{3, 2, 1, 0, 0, 0, 0}, {4, 3, 2, 1, 0, 0, 0}, {5, 4, 3, 2, 1, 0, 0},
                                {5, 5, 4, 3, 2, 1, 0}, {5, 5, 5, 4, 3, 2, 1}, {5, 5, 5, 5, 4, 3, 2},
                                {5, 5, 5, 5, 5, 4, 3}};
    const IndexTensor matrix = RelativeBuckets::clamped(7, 7, 3).matrix();
    for (Index n = 0; n < 49; ++n) CHECK(matrix[n] == expected[n / 7][n % 7]);
}

TEST_CASE("relative_buckets: golden log buckets of (256, 512)", "[relative_buckets][golden]") {
    const std::vector<std::pair<int, int>> golden = {
        {0, 0},     {1, 1},     {64, 64},   {127, 127}, {128, 128}, {129, 129}, {130, 130},
        {131, 131}, {132, 131}, {135, 133}, {140, 137}, {150, 143}, {160, 149}, {180, 160},
        {200, 169}, {256, 192}, {300, 207}, {400, 233}, {500, 254}, {509, 255}, {511, 255}};
    for (const auto& [offset, bucket] : golden) {
        CHECK(log_bucket(offset, 256, 512, OffsetClamp::official) == bucket);
        CHECK(log_bucket(-offset, 256, 512, OffsetClamp::official) == -bucket);
    }
}

TEST_CASE("relative_buckets: golden log buckets of small tables", "[relative_buckets][golden]") {
    const auto buckets = [](Index b, Index m) {
        std::vector<std::int64_t> all;
        for (Index offset = 0; offset < m; ++offset) all.push_back(log_bucket(offset, b, m, OffsetClamp::official));
        return all;
    };
    const std::vector<std::int64_t> b8 = {0, 1, 2, 3, 4, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6,
                                          7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    CHECK(buckets(8, 32) == b8);
    CHECK(buckets(4, 16) == std::vector<std::int64_t>{0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3});
    const std::vector<std::int64_t> b16 = buckets(16, 64);
    for (int offset = 0; offset <= 9; ++offset) CHECK(b16[static_cast<std::size_t>(offset)] == offset);
    const std::vector<std::pair<int, int>> first_of_bucket = {{10, 9},  {11, 10}, {14, 10}, {15, 11}, {19, 11},
                                                              {20, 12}, {26, 12}, {27, 13}, {34, 13}, {35, 14},
                                                              {46, 14}, {47, 15}, {63, 15}};
    for (const auto& [offset, bucket] : first_of_bucket) CHECK(b16[static_cast<std::size_t>(offset)] == bucket);
}

TEST_CASE("relative_buckets: beyond max_position the two codes part", "[relative_buckets][golden]") {
    CHECK(log_bucket(512, 256, 512, OffsetClamp::hf) == 256);
    CHECK(log_bucket(1024, 256, 512, OffsetClamp::hf) == 319);
    CHECK(log_bucket(1024, 256, 512, OffsetClamp::official) == 255);
    const RelativeBuckets official = RelativeBuckets::logarithmic(1, 513, 256, 512, OffsetClamp::official);
    const RelativeBuckets hf = RelativeBuckets::logarithmic(1, 513, 256, 512, OffsetClamp::hf);
    CHECK(official.row(0, 512) == 1);
    CHECK(hf.row(0, 512) == 0);
    CHECK(RelativeBuckets::logarithmic(1025, 1, 256, 512, OffsetClamp::hf).row(1024, 0) == 511);
    CHECK(RelativeBuckets::logarithmic(1025, 1, 256, 512, OffsetClamp::official).row(1024, 0) == 511);
}

TEST_CASE("relative_buckets: logarithms in float32, as transformers takes them, move a few offsets",
          "[relative_buckets][golden]") {
    struct Moved {
        Index buckets, max_position;
        std::int64_t offset, in_float, in_double;
    };
    for (const Moved& one : {Moved{128, 513, 128, 85, 86},
                             {128, 513, 256, 106, 107},
                             {32, 129, 32, 21, 22},
                             {32, 129, 64, 26, 27},
                             {38, 514, 57, 25, 26},
                             {38, 514, 171, 31, 32},
                             {18, 65, 24, 14, 13}}) {
        INFO(one.buckets << " " << one.max_position << " " << one.offset);
        const auto by = [&](OffsetClamp clamp, std::int64_t offset) {
            return log_bucket(offset, one.buckets, one.max_position, clamp);
        };
        CHECK(by(OffsetClamp::hf, one.offset) == one.in_float);
        CHECK(by(OffsetClamp::hf, -one.offset) == -one.in_float);
        CHECK(by(OffsetClamp::official, one.offset) == one.in_double);
    }
    for (std::int64_t offset = -511; offset < 512; ++offset)
        CHECK(log_bucket(offset, 256, 512, OffsetClamp::hf) == log_bucket(offset, 256, 512, OffsetClamp::official));
}

TEST_CASE("relative_buckets: a max_position that the logarithm never reaches", "[relative_buckets]") {
    // 256 buckets on a model of 64 positions: every offset is its own bucket, as in transformers 4.57 and 5.24.
    for (const Index max_position : {1, 64, 128, 129})
        for (Index offset = -128; offset <= 128; ++offset) {
            CHECK(log_bucket(offset, 256, max_position, OffsetClamp::hf) == offset);
            CHECK(log_bucket(2 * offset, 256, max_position, OffsetClamp::official) ==
                  std::clamp<std::int64_t>(2 * offset, -(max_position - 1), max_position - 1));
        }
    for (const Index max_position : {1, 64, 128, 129}) {
        CHECK_THROWS_AS(log_bucket(129, 256, max_position, OffsetClamp::hf), Error);
        CHECK_THROWS_AS(log_bucket(-129, 256, max_position, OffsetClamp::hf), Error);
    }
    CHECK(log_bucket(129, 256, 130, OffsetClamp::hf) == 255);
}

TEST_CASE("relative_buckets: inside the window delta(j,i) = 2k - delta(i,j)", "[relative_buckets][law]") {
    const RelativeBuckets buckets = RelativeBuckets::clamped(9, 9, 9);
    const RelativeBuckets mirrored = buckets.mirrored();
    for (Index i = 0; i < 9; ++i)
        for (Index j = 0; j < 9; ++j) {
            CHECK(buckets.row(j, i) == 18 - buckets.row(i, j));
            CHECK(mirrored.row(i, j) == buckets.row(j, i));
        }
}

TEST_CASE("relative_buckets: impossible sizes are refused", "[relative_buckets]") {
    CHECK_THROWS_AS(RelativeBuckets::clamped(0, 3, 4), Error);
    CHECK_THROWS_AS(RelativeBuckets::clamped(3, 3, 0), Error);
    CHECK_THROWS_AS(log_bucket(3, 7, 32, OffsetClamp::official), Error);
    CHECK_THROWS_AS(log_bucket(3, 8, 0, OffsetClamp::official), Error);
}

}  // namespace locus::test::test_relative_buckets

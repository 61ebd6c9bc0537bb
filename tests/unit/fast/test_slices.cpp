#include <catch2/catch.hpp>
#include <random>

#include "core/attention/disentangled.h"
#include "core/fast/slices.h"
#include "tests/seeded.h"

namespace locus::test::test_slices {

TEST_CASE("slices: runs cover the offsets once, in order", "[slices][law]") {
    for (Index queries : {1, 2, 7, 40})
        for (Index keys : {1, 3, 40, 90})
            for (const RelativeBuckets& buckets :
                 {RelativeBuckets::clamped(queries, keys, 3), RelativeBuckets::clamped(queries, keys, 50),
                  RelativeBuckets::logarithmic(queries, keys, 8, 32, OffsetClamp::official),
                  RelativeBuckets::logarithmic(queries, keys, 20, 16, OffsetClamp::hf)}) {
                Index offset = -(keys - 1);
                for (const OffsetRun& run : offset_runs(buckets)) {
                    REQUIRE(run.first_offset == offset);
                    REQUIRE(run.length >= 1);
                    for (Index n = 0; n < run.length; ++n, ++offset)
                        REQUIRE(buckets.row_of_offset(offset) == run.first_row + n * run.step);
                }
                CHECK(offset == queries);
            }
}

TEMPLATE_TEST_CASE("slices: have the bits of the reference's gather, added to what is there", "[slices][law]", float,
                   double) {
    const Index d = 5;
    for (Index queries : {1, 3, 17, 64, 300})
        for (Index keys : {1, 6, 17, 80})
            for (const RelativeBuckets& buckets :
                 {RelativeBuckets::clamped(queries, keys, 4), RelativeBuckets::clamped(queries, keys, 90),
                  RelativeBuckets::logarithmic(queries, keys, 8, 32, OffsetClamp::official),
                  RelativeBuckets::logarithmic(queries, keys, 20, 16, OffsetClamp::hf)}) {
                const Matrix<TestType> q = Matrix<TestType>::Random(queries, d), k = Matrix<TestType>::Random(keys, d);
                const Matrix<TestType> relative = Matrix<TestType>::Random(2 * buckets.span(), d);
                const Matrix<TestType> before = Matrix<TestType>::Random(queries, keys);
                Matrix<TestType> by_query = before, by_key = before;
                const Matrix<TestType> table = products_of_rows<TestType>(q, relative);
                add_slices_by_query<TestType>(table.rowwise().reverse(), buckets, by_query);
                add_slices_by_key<TestType>(products_of_rows<TestType>(k, relative), buckets, by_key);
                const Matrix<TestType> c2p = before + content_to_position<TestType>(q, relative, buckets);
                const Matrix<TestType> p2c = before + position_to_content<TestType>(k, relative, buckets);
                REQUIRE(by_query == c2p);
                REQUIRE(by_key == p2c);
            }
}

TEST_CASE("slices backward: the transpose of reading slices, and rows of the table that nobody read are 0",
          "[slices][backward]") {
    std::mt19937 random(4);
    std::uniform_int_distribution<int> number(-9, 9);
    for (const auto& [queries, keys] : std::vector<std::pair<Index, Index>>{{1, 1}, {5, 5}, {3, 17}, {17, 3}, {40, 40}})
        for (const bool logarithmic : {false, true}) {
            const RelativeBuckets buckets = logarithmic
                                                ? RelativeBuckets::logarithmic(queries, keys, 6, 20, OffsetClamp::hf)
                                                : RelativeBuckets::clamped(queries, keys, 6);
            Matrix<double> scores(queries, keys), by_query = Matrix<double>::Zero(queries, 12),
                                                  by_key = Matrix<double>::Zero(keys, 12);
            for (Index i = 0; i < queries; ++i)
                for (Index j = 0; j < keys; ++j) {
                    scores(i, j) = number(random);  // whole numbers: sums are exact in any order
                    by_query(i, buckets.row(i, j)) += scores(i, j);
                    by_key(j, buckets.row(i, j)) += scores(i, j);
                }
            CHECK(scatter_slices_by_query<double>(scores, buckets) == by_query);
            CHECK(scatter_slices_by_key<double>(scores, buckets) == by_key);
        }
}

}  // namespace locus::test::test_slices

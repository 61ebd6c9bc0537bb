#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "core/attention/disentangled.h"
#include "core/attention/products.h"
#include "core/attention/softmax.h"
#include "tests/max_abs.h"

namespace locus::test::test_disentangled {

namespace {

/// G1 of the specification: H = 1, d = 2, T = 3, k = 2.
struct Golden {
    Matrix<double> q{{1, 0}, {0, 1}, {1, 1}}, k{{1, 2}, {0, 1}, {-1, 1}}, v{{1, 0}, {0, 1}, {2, 2}};
    Matrix<double> k_r{{1, 0}, {0, 1}, {1, 1}, {2, -1}}, q_r{{0, 1}, {1, 0}, {1, -1}, {2, 1}};
    RelativeBuckets line = RelativeBuckets::clamped(3, 3, 2);
};

template <class Scalar>
Matrix<Scalar> random(Index rows, Index cols, unsigned seed) {
    std::srand(seed);
    return Matrix<Scalar>::Random(rows, cols);
}

bool near(const Matrix<double>& a, const Matrix<double>& b, double tolerance) {
    return a.rows() == b.rows() && a.cols() == b.cols() && max_abs(a - b) <= tolerance;
}

}  // namespace

TEST_CASE("disentangled: golden vector G1, every term", "[disentangled][golden]") {
    const Golden g;
    CHECK(content_to_content<double>(g.q, g.k) == Matrix<double>{{1, 0, -1}, {2, 1, 1}, {3, 1, 0}});
    CHECK(content_to_position<double>(g.q, g.k_r, g.line) == Matrix<double>{{1, 0, 1}, {-1, 1, 1}, {1, 1, 2}});
    CHECK(position_to_content<double>(g.k, g.q_r, g.line) == Matrix<double>{{-1, 0, 1}, {4, -1, -1}, {4, 1, -2}});
    CHECK(position_to_content<double>(g.k, g.q_r, g.line, P2cIndex::paper_ji) ==
          Matrix<double>{{-1, 1, -1}, {1, -1, -1}, {2, 0, -2}});
}

TEST_CASE("disentangled: golden vector G1, probabilities and context", "[disentangled][golden]") {
    const Golden g;
    const Matrix<double> p_expected{
        {0.375261, 0.249479, 0.375261}, {0.719069, 0.140466, 0.140466}, {0.856145, 0.111185, 0.032670}};
    const Matrix<double> o_expected{{1.125782, 1.0}, {1.0, 0.421397}, {0.921485, 0.176525}};
    const Matrix<double> paper_p{
        {0.409504, 0.409504, 0.180992}, {0.429253, 0.285373, 0.285373}, {0.780225, 0.152412, 0.067363}};
    for (const P2cIndex index : {P2cIndex::official_ij, P2cIndex::paper_ji}) {
        const Matrix<double> scores =
            (content_to_content<double>(g.q, g.k) + content_to_position<double>(g.q, g.k_r, g.line) +
             position_to_content<double>(g.k, g.q_r, g.line, index)) /
            score_divisor<double>(3, 2);
        const Matrix<double> probs = masked_softmax<double>(scores, Mask());
        CHECK(near(probs, index == P2cIndex::official_ij ? p_expected : paper_p, 5e-7));
        if (index == P2cIndex::official_ij) CHECK(near(probs * g.v, o_expected, 5e-7));
    }
}

TEMPLATE_TEST_CASE("disentangled: slices equal the plain gather, bit for bit", "[disentangled][law]", float, double) {
    const Index d = 5;
    for (Index queries : {1, 3, 17, 64})
        for (Index keys : {1, 6, 17, 80})
            for (const RelativeBuckets& line :
                 {RelativeBuckets::clamped(queries, keys, 4), RelativeBuckets::clamped(queries, keys, 90),
                  RelativeBuckets::logarithmic(queries, keys, 8, 32, OffsetClamp::official),
                  RelativeBuckets::logarithmic(queries, keys, 20, 16, OffsetClamp::hf)}) {
                const Matrix<TestType> q = random<TestType>(queries, d, 1), k = random<TestType>(keys, d, 2);
                const Matrix<TestType> table = random<TestType>(2 * line.span(), d, 3);
                const Matrix<TestType> c2p = content_to_position<TestType>(q, table, line);
                const Matrix<TestType> p2c = position_to_content<TestType>(k, table, line);
                for (Index i = 0; i < queries; ++i)
                    for (Index j = 0; j < keys; ++j) {
                        TestType by_query = 0, by_key = 0;
                        for (Index c = 0; c < d; ++c) {
                            by_query += q(i, c) * table(line.row(i, j), c);
                            by_key += k(j, c) * table(line.row(i, j), c);
                        }
                        REQUIRE(c2p(i, j) == by_query);
                        REQUIRE(p2c(i, j) == by_key);
                    }
            }
}

TEST_CASE("disentangled: Hugging Face's transposed gather is the official one", "[disentangled][law]") {
    const Index tokens = 16, k = 5;
    const Matrix<double> keys = random<double>(tokens, 4, 4), q_r = random<double>(2 * k, 4, 5);
    const RelativeBuckets line = RelativeBuckets::clamped(tokens, tokens, k);
    // transformers gathers K Qr^T at clamp(-(a - b) + k) and transposes; minus sign and transpose cancel.
    Matrix<double> gathered(tokens, tokens);
    for (Index a = 0; a < tokens; ++a)
        for (Index b = 0; b < tokens; ++b)
            gathered(a, b) = keys.row(a).dot(q_r.row(std::clamp<Index>(-(a - b) + k, 0, 2 * k - 1)));
    CHECK(near(position_to_content<double>(keys, q_r, line), gathered.transpose(), 1e-15));
    const Matrix<double> paper = position_to_content<double>(keys, q_r, line, P2cIndex::paper_ji);
    CHECK(max_abs(paper - gathered.transpose()) > 0.1);
}

TEST_CASE("disentangled: the paper's p2c differs off the diagonal only", "[disentangled][law]") {
    const Index tokens = 16;
    const Matrix<double> k = random<double>(tokens, 4, 6), q_r = random<double>(32, 4, 7);
    const RelativeBuckets line = RelativeBuckets::clamped(tokens, tokens, 16);
    const Matrix<double> difference =
        position_to_content<double>(k, q_r, line) - position_to_content<double>(k, q_r, line, P2cIndex::paper_ji);
    CHECK(difference.diagonal().isZero(0));
    CHECK((difference.array() != 0).count() == 240);
}

TEST_CASE("disentangled: a zero table adds nothing", "[disentangled][law]") {
    const Matrix<float> q = random<float>(5, 4, 8), zero = Matrix<float>::Zero(6, 4);
    CHECK(content_to_position<float>(q, zero, RelativeBuckets::clamped(5, 5, 3)).isZero(0));
    CHECK(position_to_content<float>(q, zero, RelativeBuckets::clamped(5, 5, 3)).isZero(0));
}

TEST_CASE("disentangled: three queries of six equal the first rows of the square", "[disentangled][law]") {
    const Matrix<double> q = random<double>(6, 4, 9), k = random<double>(6, 4, 10), table = random<double>(8, 4, 11);
    const RelativeBuckets square = RelativeBuckets::clamped(6, 6, 4), wide = RelativeBuckets::clamped(3, 6, 4);
    CHECK(content_to_position<double>(q.topRows(3), table, wide) ==
          content_to_position<double>(q, table, square).topRows(3));
    CHECK(position_to_content<double>(k, table, wide) == position_to_content<double>(k, table, square).topRows(3));
    CHECK(content_to_content<double>(q.topRows(3), k) == content_to_content<double>(q, k).topRows(3));
}

TEST_CASE("disentangled: the paper's p2c with fewer queries than keys", "[disentangled][law]") {
    const Matrix<double> k = random<double>(6, 4, 16), q_r = random<double>(4, 4, 17);
    const RelativeBuckets pairs_ji = RelativeBuckets::clamped(6, 3, 2);  // key j asks with j - i
    const Matrix<double> p2c = position_to_content<double>(k, q_r, pairs_ji, P2cIndex::paper_ji);
    REQUIRE((p2c.rows() == 3 && p2c.cols() == 6));
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 6; ++j)
            CHECK(p2c(i, j) == Approx(k.row(j).dot(q_r.row(std::clamp<Index>(j - i + 2, 0, 3)))).epsilon(1e-14));
}

TEST_CASE("disentangled: p2p depends on i - j alone", "[disentangled][law]") {
    const Matrix<double> q_r = random<double>(8, 4, 12), k_r = random<double>(8, 4, 13);
    const Matrix<double> p2p = position_to_position<double>(q_r, k_r, RelativeBuckets::clamped(6, 6, 4));
    for (Index i = 1; i < 6; ++i)
        for (Index j = 1; j < 6; ++j) CHECK(p2p(i, j) == p2p(i - 1, j - 1));
    CHECK(p2p(0, 1) == products_of_rows<double>(q_r, k_r)(5, 3));
}

TEST_CASE("disentangled: the scale counts the terms", "[disentangled]") {
    CHECK(score_divisor<double>(Terms{true, true, false}.count(), 64) == std::sqrt(192.0));
    CHECK(score_divisor<double>(Terms{true, false, false}.count(), 64) == std::sqrt(128.0));
    CHECK(score_divisor<double>(Terms{false, false, false}.count(), 64) == 8.0);
}

TEST_CASE("disentangled: sizes that do not fit are refused", "[disentangled]") {
    const Matrix<double> q = random<double>(5, 4, 14), table = random<double>(6, 4, 15);
    const RelativeBuckets line = RelativeBuckets::clamped(5, 5, 3);
    CHECK_THROWS_AS(content_to_position<double>(q, random<double>(6, 3, 1), line), Error);
    CHECK_THROWS_AS(content_to_position<double>(q, random<double>(7, 4, 1), line), Error);
    CHECK_THROWS_AS(content_to_position<double>(q.topRows(4), table, line), Error);
    CHECK_THROWS_AS(position_to_content<double>(q.topRows(4), table, line), Error);
    CHECK_THROWS_AS(content_to_content<double>(q, random<double>(5, 3, 1)), Error);
}

}  // namespace locus::test::test_disentangled

#include <catch2/catch.hpp>

#include "core/attention/microscope.h"

namespace locus::test::test_microscope {

namespace {

template <class Scalar>
HeadTensors<Scalar> random_head(Index tokens, Index d, Index span, bool masked) {
    HeadTensors<Scalar> head{Matrix<Scalar>::Random(tokens, d) * 3, Matrix<Scalar>::Random(tokens, d) * 3,
                             Matrix<Scalar>::Random(2 * span, d) * 3, Matrix<Scalar>::Random(2 * span, d) * 3, Mask()};
    if (masked) {
        head.mask = Mask::Ones(tokens, tokens);
        head.mask.col(tokens - 1).setZero();
        head.mask.row(tokens - 1).setZero();
        head.mask(0, 1) = 0;
    }
    return head;
}

}  // namespace

TEMPLATE_TEST_CASE("microscope: every cell is replayed to the last bit", "[microscope][law]", float, double) {
    for (const bool masked : {false, true})
        for (const P2cIndex index : {P2cIndex::official_ij, P2cIndex::paper_ji})
            for (const Index tokens : {1, 7, 40}) {
                const RelativeBuckets line = RelativeBuckets::logarithmic(tokens, tokens, 8, 32, OffsetClamp::official);
                const auto head = random_head<TestType>(tokens, 33, line.span(), masked && tokens > 1);
                const Matrix<TestType> c2c = content_to_content<TestType>(head.q, head.k);
                const Matrix<TestType> c2p = content_to_position<TestType>(head.q, head.k_r, line);
                const Matrix<TestType> p2c = position_to_content<TestType>(head.k, head.q_r, line, index);
                const Matrix<TestType> scores = (c2c + c2p + p2c) / score_divisor<TestType>(3, 33);
                const Matrix<TestType> probs = masked_softmax<TestType>(scores, head.mask);
                for (Index i = 0; i < tokens; ++i)
                    for (Index j = 0; j < tokens; ++j) {
                        const auto cell = explain_cell<TestType>(head, line, index, 3, i, j);
                        REQUIRE(cell.c2c.value == c2c(i, j));
                        REQUIRE(cell.c2p.value == c2p(i, j));
                        REQUIRE(cell.p2c.value == p2c(i, j));
                        REQUIRE(cell.score == scores(i, j));
                        REQUIRE(cell.probability == probs(i, j));
                        REQUIRE(cell.c2p.running.back() == cell.c2p.value);
                    }
            }
}

TEST_CASE("microscope: says which row of the table and why", "[microscope]") {
    const RelativeBuckets line = RelativeBuckets::logarithmic(40, 40, 8, 32, OffsetClamp::official);
    const auto cell = explain_cell<double>(random_head<double>(40, 4, 8, false), line, P2cIndex::official_ij, 3, 30, 4);
    CHECK(cell.offset == 26);
    CHECK(cell.bucket == 7);
    CHECK(cell.c2p.row == 15);
    CHECK(cell.p2c.row == 15);
}

TEST_CASE("microscope: a hidden pair has probability 0 and says so", "[microscope]") {
    const RelativeBuckets line = RelativeBuckets::clamped(7, 7, 3);
    const auto cell = explain_cell<float>(random_head<float>(7, 4, 3, true), line, P2cIndex::official_ij, 3, 0, 1);
    CHECK_FALSE(cell.visible);
    CHECK(cell.probability == 0);
}

TEST_CASE("microscope: a cell outside the scores is refused", "[microscope]") {
    const RelativeBuckets line = RelativeBuckets::clamped(7, 7, 3);
    CHECK_THROWS_AS(explain_cell<float>(random_head<float>(7, 4, 3, false), line, P2cIndex::official_ij, 3, 7, 0),
                    Error);
}

}  // namespace locus::test::test_microscope

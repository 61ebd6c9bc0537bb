#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/attention/scaled_dot_product.h"
#include "core/attention/softmax.h"
#include "tests/max_abs.h"

namespace locus::test::test_softmax {

TEMPLATE_TEST_CASE("softmax: visible keys sum to 1 and hidden keys are exactly 0", "[softmax][law]", float, double) {
    const Matrix<TestType> scores{{1, 2, 3, -4}, {0, 0, 0, 0}, {5, -5, 700, 2}};
    const Mask mask{{1, 1, 0, 1}, {0, 0, 1, 0}, {1, 1, 0, 1}};
    const Matrix<TestType> probs = masked_softmax<TestType>(scores, mask);
    for (Index i = 0; i < 3; ++i) {
        CHECK(std::abs(probs.row(i).sum() - 1) <= 4 * std::numeric_limits<TestType>::epsilon());
        for (Index j = 0; j < 4; ++j)
            if (!mask(i, j)) CHECK(probs(i, j) == 0);
    }
    CHECK(probs(1, 2) == 1);
}

TEST_CASE("softmax: a huge score on a hidden key does not disturb the visible ones", "[softmax][law]") {
    const Matrix<float> scores{{1, 2, 1e9F}};
    const Matrix<float> probs = masked_softmax<float>(scores, Mask{{1, 1, 0}});
    CHECK(probs(0, 0) == Approx(0.26894142).epsilon(1e-6));
    CHECK(probs(0, 1) == Approx(0.73105858).epsilon(1e-6));
}

TEST_CASE("softmax: a row that sees nothing is zero, or uniform as in Hugging Face", "[softmax][law]") {
    const Matrix<double> scores{{1, 2, 3, 4}, {4, 3, 2, 1}};
    const Mask mask{{0, 0, 0, 0}, {1, 1, 1, 1}};
    CHECK(masked_softmax<double>(scores, mask).row(0).isZero(0));
    CHECK((masked_softmax<double>(scores, mask, MaskedRow::uniform).row(0).array() == 0.25).all());
    CHECK(masked_softmax<double>(scores, mask).row(1) ==
          masked_softmax<double>(scores, mask, MaskedRow::uniform).row(1));
}

TEST_CASE("softmax: NaN in a visible score shows in its row and in no other", "[softmax]") {
    Matrix<double> scores = Matrix<double>::Zero(2, 3);
    scores(0, 1) = std::numeric_limits<double>::quiet_NaN();
    const Matrix<double> probs = masked_softmax<double>(scores, Mask());
    CHECK(probs.row(0).array().isNaN().all());
    CHECK(probs.row(1).allFinite());
    CHECK(masked_softmax<double>(scores, Mask{{1, 0, 1}, {1, 1, 1}}).allFinite());
}

TEST_CASE("softmax: a mask of another shape is refused", "[softmax]") {
    CHECK_THROWS_AS(masked_softmax<float>(Matrix<float>::Zero(2, 3), Mask::Ones(3, 2)), Error);
}

TEST_CASE("scaled_dot_product: permuting the tokens permutes the outputs", "[scaled_dot_product][law]") {
    const Matrix<double> x = Matrix<double>::Random(5, 4), v = Matrix<double>::Random(5, 3);
    Eigen::PermutationMatrix<Eigen::Dynamic> shuffle(5);
    shuffle.indices() << 3, 0, 4, 1, 2;
    const Matrix<double> px = shuffle * x, pv = shuffle * v;
    const Matrix<double> expected = shuffle * scaled_dot_product<double>(x, x, v, Mask());
    CHECK(max_abs(scaled_dot_product<double>(px, px, pv, Mask()) - expected) <= 1e-14);
}

}  // namespace locus::test::test_softmax

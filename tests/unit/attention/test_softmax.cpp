#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/attention/scaled_dot_product.h"
#include "core/attention/softmax.h"
#include "core/models/layers.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

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

// Softmax and the weighted values backwards, and the small steps beside them.

namespace {

/// Hides one key from all, one from some, and every key from query 2.
Mask some_hidden(Index queries, Index keys) {
    Mask mask = Mask::Ones(queries, keys);
    mask.col(1).setZero();
    mask(0, keys - 1) = 0;
    mask.row(2).setZero();
    return mask;
}

}  // namespace

TEST_CASE("softmax backward: torch's autograd of the authors' masked softmax", "[backward][oracle]") {
    const GradientCase recorded("grads_blocks");
    const auto& masks = recorded.inputs.at("softmax_masked.mask").as<std::int64_t>();
    const Index heads = recorded.inputs.at("softmax_masked.x").shape()[1];
    for (Index at = 0; at < masks.extent(0) * heads; ++at) {
        const Mask mask = masks.matrix(at / heads).cast<std::uint8_t>();
        const Matrix<double> probs = masked_softmax<double>(recorded.input("softmax_masked.x", at), mask);
        CHECK(recorded.agrees(probs, "softmax_masked.y", at));
        CHECK(recorded.agrees(softmax_backward<double>(probs, recorded.input("softmax_masked.d_y", at)),
                              "softmax_masked.grad.x", at));
    }
}

TEST_CASE("softmax backward: rows sum to 0; hidden keys and queries without a key get exactly 0", "[backward][law]") {
    Numbers numbers(1);
    const Mask mask = some_hidden(5, 7);
    const Matrix<double> d_probs = numbers.matrix(5, 7);
    const Matrix<double> d_scores =
        softmax_backward<double>(masked_softmax<double>(numbers.matrix(5, 7) * 3, mask), d_probs);
    for (Index i = 0; i < 5; ++i) {
        CHECK(std::abs(d_scores.row(i).sum()) <= rounding(20, 1));
        for (Index j = 0; j < 7; ++j)
            if (mask(i, j) == 0) CHECK(d_scores(i, j) == 0);
    }
    // What all probabilities of a row gain together moves nothing.
    const Matrix<double> all_alike = Matrix<double>::Constant(5, 7, 2.5);
    CHECK(softmax_backward<double>(masked_softmax<double>(numbers.matrix(5, 7), mask), all_alike)
              .isZero(rounding(20, 2.5)));
}

TEST_CASE("context backward: central differences of scores and values, with dropout and hidden keys", "[backward]") {
    Numbers numbers(2);
    for (const bool drops : {false, true}) {
        Matrix<double> scores = numbers.matrix(5, 7) * 2, v = numbers.matrix(7, 3), keep;
        if (drops) keep = numbers.matrix(5, 7).unaryExpr([](double x) { return x > -0.5 ? 4.0 / 3 : 0.0; });
        const Matrix<double> d_context = numbers.matrix(5, 3);
        const Mask mask = some_hidden(5, 7);
        const auto loss = [&] {
            Matrix<double> probs = masked_softmax<double>(scores, mask);
            if (drops) probs.array() *= keep.array();
            return context<double>(probs, v).cwiseProduct(d_context).sum();
        };
        const auto grad = context_backward<double>(masked_softmax<double>(scores, mask), keep, v, d_context);
        check_differences("scores", scores, grad.scores, loss);
        check_differences("v", v, grad.v, loss);
        CHECK(grad.v.row(1).isZero(0));  // the value of a key that nobody saw
    }
}

TEST_CASE("mixed heads backward: central differences of scores and weights", "[backward]") {
    Numbers numbers(3);
    Tensor<double> scores({2, 3, 4, 5}), weights({2, 3, 4, 5});
    for (Tensor<double>* all : {&scores, &weights})
        for (Index n = 0; n < all->size(); ++n) (*all)[n] = numbers.value();
    Matrix<double> weight = numbers.matrix(3, 3);
    const auto loss = [&] { return mix_heads(scores, weight).rows().cwiseProduct(weights.rows()).sum(); };
    const auto grad = mix_heads_backward(scores, weight, weights);
    CHECK(grad.scores.shape() == scores.shape());
    check_differences("scores", scores, grad.scores, loss);
    check_differences("weight", weight, grad.weight, loss);
}

TEST_CASE("multiplied rows backward: central differences; a hidden token gets exactly nothing", "[backward]") {
    Numbers numbers(4);
    RowVector<double> factors = numbers.matrix(1, 5);
    factors[3] = 0;
    Matrix<double> x = numbers.matrix(5, 4);
    const Matrix<double> d_y = numbers.matrix(5, 4);
    const auto loss = [&] {
        Matrix<double> y = x;
        multiply_rows<double>(factors, y);
        return y.cwiseProduct(d_y).sum();
    };
    const auto grad = multiply_rows_backward<double>(factors, x, d_y);
    check_differences("x", x, grad.x, loss);
    check_differences("factors", factors, grad.factors, loss);
    CHECK(grad.x.row(3).isZero(0));
}

TEST_CASE("softmax and small steps backward: float is double, rounded", "[backward]") {
    Numbers numbers(5);
    const Matrix<double> probs = masked_softmax<double>(numbers.matrix(4, 6), {}), v = numbers.matrix(6, 3),
                         d_context = numbers.matrix(4, 3);
    const auto exact = context_backward<double>(probs, Matrix<double>(), v, d_context);
    const auto single = context_backward<float>(Matrix<float>(probs.cast<float>()), Matrix<float>(),
                                                Matrix<float>(v.cast<float>()), Matrix<float>(d_context.cast<float>()));
    CHECK(near(single.v.cast<double>(), exact.v, 1e-6));
    CHECK(near(single.scores.cast<double>(), exact.scores, 1e-6));
    const RowVector<double> factors = v.col(0).transpose();
    const auto rows = multiply_rows_backward<float>(factors.cast<float>(), Matrix<float>(v.cast<float>()),
                                                    Matrix<float>(v.cast<float>()));
    CHECK(near(rows.factors.cast<double>(), v.rowwise().squaredNorm().transpose(), 1e-6));
    Tensor<float> scores({1, 2, 1, 2}, {1, 2, 3, 4});
    Matrix<float> weight(2, 2), expected(2, 2);
    weight << 1, 2, 3, 4;
    expected << 5, 11, 11, 25;  // the four products of (1,2) and (3,4)
    const auto mixed = mix_heads_backward(scores, weight, scores);
    CHECK(mixed.weight == expected);
    CHECK(mixed.scores.values() == std::vector<float>{10, 14, 14, 20});
}

TEST_CASE("softmax and small steps backward: what does not fit is named", "[backward]") {
    const auto zero = [](Index rows, Index cols) { return Matrix<double>(Matrix<double>::Zero(rows, cols)); };
    CHECK(refusal([&] { softmax_backward<double>(zero(2, 3), zero(3, 2)); }, Fault::usage) ==
          "softmax_backward: d_probs is 3 x 2, expected 2 x 3");
    CHECK(refusal([&] { context_backward<double>(zero(2, 3), zero(2, 2), zero(3, 4), zero(2, 4)); }, Fault::usage) ==
          "context_backward: keep is 2 x 2, expected 2 x 3");
    CHECK(refusal([&] { context_backward<double>(zero(2, 3), zero(0, 0), zero(2, 4), zero(2, 4)); }, Fault::usage) ==
          "context_backward: v is 2 x 4, expected 3 x 4");
    CHECK(refusal([&] { multiply_rows_backward<double>(zero(1, 3), zero(2, 4), zero(2, 4)); }, Fault::usage) ==
          "multiply_rows_backward: factors is 1 x 3, expected 1 x 2");
    CHECK(refusal(
              [&] {
                  mix_heads_backward(Tensor<double>({1, 2, 1, 1}), zero(2, 2), Tensor<double>({1, 3, 1, 1}));
              },
              Fault::usage) == "mix_heads_backward: d_mixed is [1, 3, 1, 1], expected [1, 2, 1, 1]");
    CHECK(refusal(
              [&] {
                  mix_heads_backward(Tensor<double>({1, 2, 1, 1}), zero(2, 3), Tensor<double>({1, 2, 1, 1}));
              },
              Fault::usage) == "mix_heads_backward: weight is 2 x 3, expected 2 x 2");
}

}  // namespace locus::test::test_softmax

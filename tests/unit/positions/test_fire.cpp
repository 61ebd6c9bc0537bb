#include <catch2/catch.hpp>
#include <cmath>

#include "core/attention/biased.h"
#include "core/positions/fire.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/seeded.h"

namespace locus::test::test_fire {

namespace {

FireWeights<double> random_weights(double c, double threshold, Index width = 5, Index heads = 3) {
    Numbers numbers(7);
    return {c,
            threshold,
            numbers.matrix(1, width),
            numbers.matrix(1, width),
            numbers.matrix(heads, width),
            numbers.matrix(1, heads)};
}

/// One hidden unit that hands the ratio on, and one weight per head: b = -slope * ratio.
FireWeights<double> proportional(double c, double threshold, const std::vector<double>& slopes) {
    const auto heads = static_cast<Index>(slopes.size());
    FireWeights<double> weights{c,
                                threshold,
                                RowVector<double>::Ones(1),
                                RowVector<double>::Zero(1),
                                Matrix<double>(heads, 1),
                                RowVector<double>::Zero(heads)};
    for (Index h = 0; h < heads; ++h) weights.out_weight(h, 0) = -slopes[static_cast<std::size_t>(h)];
    return weights;
}

Mask causal(Index tokens) {
    Mask mask(tokens, tokens);
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j < tokens; ++j) mask(i, j) = j <= i;
    return mask;
}

}  // namespace

TEST_CASE("fire: three tokens by hand", "[fire][golden]") {
    // c = 1, L = 1: psi(1) = ln 2, psi(2) = ln 3.  f(x) = 3 relu(2 x - 0.5) - relu(1 - 2 x) + 0.25.
    FireWeights<double> weights{
        1, 1, RowVector<double>(2), RowVector<double>(2), Matrix<double>(1, 2), RowVector<double>(1)};
    weights.in_weight << 2, -2;
    weights.in_bias << -0.5, 1;
    weights.out_weight << 3, -1;
    weights.out_bias << 0.25;
    const auto terms = fire_bias<double>(weights, 3);
    const double step = std::log(2.0) / std::log(3.0);  // 0.630930
    const Matrix<double> ratio{{0, 0, 0}, {1, 0, 0}, {1, step, 0}};
    CHECK(near(terms.ratio, ratio, 1e-15));
    // f(0) = -0.75, f(1) = 4.75, f(0.630930) = 3 * 0.761860 + 0.25
    const Matrix<double> bias{{-0.75, 0, 0}, {4.75, -0.75, 0}, {4.75, 2.5355785, -0.75}};
    CHECK(near(terms.bias.matrix(0), bias, 1e-7));
}

TEST_CASE("fire: up to row L a function of i - j alone, beyond it the same distance counts for less", "[fire][law]") {
    const Index tokens = 20;
    const double threshold = 8;
    const auto terms = fire_bias<double>(random_weights(0.3, threshold), tokens);
    for (Index i = 1; i < tokens; ++i)
        for (Index j = 1; j < i; ++j) {
            INFO("pair " << i << ", " << j);
            if (i <= threshold) {
                CHECK(terms.ratio(i, j) == terms.ratio(i - 1, j - 1));
                for (Index h = 0; h < 3; ++h) CHECK(terms.bias.matrix(h)(i, j) == terms.bias.matrix(h)(i - 1, j - 1));
            } else {
                CHECK(terms.ratio(i, j) < terms.ratio(i - 1, j - 1));
            }
        }
    // So the matrix of a head is not Toeplitz: no line over i - j can stand for it.
    CHECK(std::abs(terms.bias.matrix(0)(19, 14) - terms.bias.matrix(0)(9, 4)) > 1e-3);
}

TEST_CASE("fire: ratios run from 0 for the query itself to 1 for the first key of every long text", "[fire][law]") {
    for (const Index tokens : {1, 9, 200}) {
        const auto terms = fire_bias<double>(random_weights(0.1, 8), tokens);
        for (Index i = 0; i < tokens; ++i) {
            CHECK(terms.ratio(i, i) == 0);
            if (i >= 8) CHECK(terms.ratio(i, 0) == 1);
            for (Index j = 0; j < i; ++j) CHECK(terms.ratio(i, j) > terms.ratio(i, j + 1));
            for (Index j = i + 1; j < tokens; ++j) CHECK(terms.bias.matrix(1)(i, j) == 0);
        }
    }
}

TEST_CASE("fire: a text within L gives Kerple's logarithm, and a small c gives ALiBi", "[fire][law]") {
    const Index heads = 4, tokens = 12;
    const std::vector<double> slopes = alibi_slopes(heads);
    // Kerple (Chi et al. 2022): -r1 ln(1 + r2 |i - j|).
    const auto kerple = fire_bias<double>(proportional(0.7, 50, {2}), tokens);
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j <= i; ++j) {
            const double expected = -2 / std::log(0.7 * 50 + 1) * std::log(1 + 0.7 * double(i - j));
            CHECK(kerple.bias.matrix(0)(i, j) == Approx(expected).margin(1e-15));
        }
    // psi(x) / psi(L) = x / L + O(c): with slope L m the bias is -m (i - j).
    std::vector<double> scaled;
    for (const double slope : slopes) scaled.push_back(100 * slope);
    const auto straight = fire_bias<double>(proportional(1e-7, 100, scaled), tokens);
    const auto alibi = alibi_bias<double>(heads, tokens, tokens, AlibiForm::causal);
    for (Index h = 0; h < heads; ++h) CHECK(near(straight.bias.matrix(h), alibi.matrix(h), 1e-4));
}

TEST_CASE("fire: its bias enters attention as ALiBi's does", "[fire][law]") {
    Numbers numbers(3);
    const Index tokens = 14;
    const Matrix<double> q = numbers.matrix(tokens, 4), k = numbers.matrix(tokens, 4), v = numbers.matrix(tokens, 3);
    const auto fire = fire_bias<double>(random_weights(0.5, 4), tokens);
    const auto terms =
        biased_attention<double>(q, k, v, fire.bias.matrix(2), ContentScale::inverse_root, causal(tokens));
    // A shorter text gives the first rows of a longer one: nothing about a row depends on what follows it.
    const auto shorter = fire_bias<double>(random_weights(0.5, 4), 9);
    const auto first = biased_attention<double>(q.topRows(9), k.topRows(9), v.topRows(9), shorter.bias.matrix(2),
                                                ContentScale::inverse_root, causal(9));
    CHECK(near(first.context, terms.context.topRows(9), 1e-15));
    const double score = q.row(7).dot(k.row(2)) / 2 + fire.bias.matrix(2)(7, 2);
    CHECK(terms.scores(7, 2) == Approx(score).margin(1e-14));
}

TEST_CASE("fire: the trace keeps ratio and bias under names of stages", "[fire][trace]") {
    const auto terms = fire_bias<float>({0.1f, 4.0f, RowVector<float>::Ones(2), RowVector<float>::Zero(2),
                                         Matrix<float>::Ones(3, 2), RowVector<float>::Zero(3)},
                                        6);
    Trace trace;
    terms.add_to(trace);
    CHECK(trace.names() == std::vector<std::string>{"relative.ratio", "relative.bias"});
    CHECK(trace.at("relative.bias").shape() == Shape{3, 6, 6});
    CHECK(trace.at("relative.ratio").as<float>().matrix()(5, 2) == terms.ratio(5, 2));
}

TEST_CASE("fire backward: central differences of the layers, of c and of L", "[fire][backward]") {
    FireWeights<double> weights = random_weights(0.4, 6.5);
    const Index tokens = 11;
    Numbers numbers(5);
    Tensor<double> d_bias({3, tokens, tokens});
    for (Index h = 0; h < 3; ++h) d_bias.matrix(h) = numbers.matrix(tokens, tokens);
    RowVector<double> scale(2);  // c and L
    scale << weights.c, weights.threshold;
    const auto loss = [&] {
        weights.c = scale[0];
        weights.threshold = scale[1];
        const auto terms = fire_bias<double>(weights, tokens);
        double sum = 0;
        for (Index h = 0; h < 3; ++h) sum += terms.bias.matrix(h).cwiseProduct(d_bias.matrix(h)).sum();
        return sum;
    };
    // Keys after the query have no bias, so what d_bias says of them is not read.
    const auto grad = fire_bias_backward<double>(weights, fire_bias<double>(weights, tokens), d_bias);
    RowVector<double> d_scale(2);
    d_scale << grad.c, grad.threshold;
    check_differences("c and L", scale, d_scale, loss);
    loss();
    check_differences("in_weight", weights.in_weight, grad.in_weight, loss);
    check_differences("in_bias", weights.in_bias, grad.in_bias, loss);
    check_differences("out_weight", weights.out_weight, grad.out_weight, loss);
    check_differences("out_bias", weights.out_bias, grad.out_bias, loss);
}

TEST_CASE("fire: impossible weights are refused with one sentence", "[fire][bad input]") {
    const auto sentence = [](auto change, Index tokens = 3) {
        return refusal(
            [&] {
                FireWeights<double> weights = random_weights(0.1, 8);
                change(weights);
                fire_bias<double>(weights, tokens);
            },
            Fault::usage);
    };
    CHECK(sentence([](auto& w) { w.c = 0; }) == "fire_bias: c is 0.000000 and L 8.000000, expected numbers above 0");
    CHECK(sentence([](auto& w) { w.threshold = std::nan(""); }) ==
          "fire_bias: c is 0.100000 and L nan, expected numbers above 0");
    CHECK(sentence([](auto& w) { w.in_bias.resize(4); }) == "fire_bias: in_bias is 1 x 4, expected 1 x 5");
    CHECK(sentence([](auto& w) { w.out_weight.resize(3, 4); }) == "fire_bias: out_weight is 3 x 4, expected 3 x 5");
    CHECK(sentence([](auto&) {}, 0) == "fire_bias: 0 tokens, expected 1 or more");
}

}  // namespace locus::test::test_fire

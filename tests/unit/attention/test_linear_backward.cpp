// Linear attention backwards, plain and causal.
#include <catch2/catch.hpp>

#include "core/attention/linear_backward.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

namespace locus::test::test_linear_backward {

namespace {

std::vector<bool> marks(const Tensor<std::int64_t>& mask, Index b) {
    std::vector<bool> visible;
    for (Index j = 0; j < mask.extent(1); ++j) visible.push_back(mask[b * mask.extent(1) + j] != 0);
    return visible;
}

constexpr auto kInterleaved = RotaryLayout::interleaved;

}  // namespace

TEST_CASE("linear attention backward: torch's autograd of the paper's form, plain and causal", "[backward][oracle]") {
    const GradientCase recorded("grads_blocks");
    for (const bool causal : {false, true}) {
        const std::string block = causal ? "linear_attention_causal" : "linear_attention";
        const auto& q = recorded.inputs.at(block + ".q").as<double>();
        const Index heads = q.extent(1), tokens = q.extent(2);
        const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(q.extent(3)), 0, tokens);
        for (Index at = 0; at < q.extent(0) * heads; ++at) {
            INFO(block << ", head " << at);
            const auto visible = marks(recorded.inputs.at(block + ".mask").as<std::int64_t>(), at / heads);
            const auto operand = [&](const char* name) { return recorded.input(block + "." + name, at); };
            const auto y = causal ? causal_linear_attention<double> : linear_attention<double>;
            CHECK(recorded.agrees(
                y(operand("q"), operand("k"), operand("v"), table, kInterleaved, LinearForm::paper, visible),
                block + ".y", at));
            const auto backward = causal ? causal_linear_backward<double> : linear_backward<double>;
            const auto grad = backward(operand("q"), operand("k"), operand("v"), table, kInterleaved, LinearForm::paper,
                                       operand("d_y"), visible);
            CHECK(recorded.agrees(grad.q, block + ".grad.q", at));
            CHECK(recorded.agrees(grad.k, block + ".grad.k", at));
            CHECK(recorded.agrees(grad.v, block + ".grad.v", at));
        }
    }
}

TEST_CASE("linear attention backward: central differences, both forms and layouts, with padding", "[backward]") {
    Numbers numbers(1);
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(4), 0, 6);
    for (const bool causal : {false, true})
        for (const LinearForm form : {LinearForm::paper, LinearForm::seed})
            for (const RotaryLayout layout : {kInterleaved, RotaryLayout::half_split})
                for (const std::vector<bool>& visible :
                     {std::vector<bool>{}, std::vector<bool>{true, true, false, true, true, false}}) {
                    Matrix<double> q = numbers.matrix(6, 4) * 2, k = numbers.matrix(6, 4) * 2, v = numbers.matrix(6, 3);
                    const Matrix<double> d_y = numbers.matrix(6, 3);
                    const auto y = causal ? causal_linear_attention<double> : linear_attention<double>;
                    const auto loss = [&] { return y(q, k, v, table, layout, form, visible).cwiseProduct(d_y).sum(); };
                    const auto backward = causal ? causal_linear_backward<double> : linear_backward<double>;
                    const auto grad = backward(q, k, v, table, layout, form, d_y, visible);
                    check_differences("q", q, grad.q, loss);
                    check_differences("k", k, grad.k, loss);
                    check_differences("v", v, grad.v, loss);
                    if (!visible.empty()) CHECK((grad.k.row(2).isZero(0) && grad.v.row(2).isZero(0)));
                }
}

TEST_CASE("linear attention backward: what no later query asked teaches a key nothing", "[backward][law]") {
    Numbers numbers(2);
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(4), 0, 6);
    const Matrix<double> q = numbers.matrix(6, 4), k = numbers.matrix(6, 4), v = numbers.matrix(6, 3);
    Matrix<double> d_y = Matrix<double>::Zero(6, 3);
    d_y.row(2) = numbers.matrix(1, 3);  // only query 2 matters to the loss
    const auto grad = causal_linear_backward<double>(q, k, v, table, kInterleaved, LinearForm::paper, d_y);
    CHECK(grad.k.bottomRows(3).isZero(0));
    CHECK(grad.v.bottomRows(3).isZero(0));
    for (Index j = 0; j <= 2; ++j) CHECK(!grad.v.row(j).isZero(1e-6));
    for (Index i = 0; i < 6; ++i) CHECK(grad.q.row(i).isZero(0) == (i != 2));
}

TEST_CASE("linear attention backward: 20000 tokens, of which no pair is ever written down", "[backward][law]") {
    constexpr Index kTokens = 20000;  // [T,T] would be 3.2 GB
    Numbers numbers(5);
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(4), 0, kTokens);
    const Matrix<double> q = numbers.matrix(kTokens, 4), k = numbers.matrix(kTokens, 4), v = numbers.matrix(kTokens, 2);
    Matrix<double> d_y = Matrix<double>::Zero(kTokens, 2);
    d_y.row(kTokens - 1) = numbers.matrix(1, 2);
    // Only the last query matters to the loss, and it sees all keys in either form: v_j gets its weight of it.
    const Matrix<double> phi_q = positive_features<double>(q.bottomRows(1)), phi_k = positive_features<double>(k);
    const Matrix<double> turned_q = rotate<double>(phi_q, table.rows(kTokens - 1, 1), kInterleaved),
                         turned_k = rotate<double>(phi_k, table, kInterleaved);
    const Matrix<double> weights = turned_k * turned_q.transpose() / (phi_k * phi_q.transpose()).sum();
    for (const auto backward : {linear_backward<double>, causal_linear_backward<double>}) {
        const auto grad = backward(q, k, v, table, kInterleaved, LinearForm::paper, d_y, {});
        CHECK(max_abs(grad.v - weights * d_y.bottomRows(1)) <= rounding(4 * kTokens, 1.0 / kTokens));
        CHECK(grad.q.topRows(kTokens - 1).isZero(0));
        CHECK((grad.k.allFinite() && max_abs(grad.k) > 0));
    }
}

TEST_CASE("linear attention backward: a denominator held up at 1e-6 is a constant", "[backward]") {
    Numbers numbers(3);
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(2), 0, 2);
    // phi(-20) is 2e-9: sums of products of such features stay far below the smallest denominator.
    Matrix<double> q = Matrix<double>::Constant(2, 2, -20), k = q, v = numbers.matrix(2, 2) * 1e10;
    const Matrix<double> d_y = numbers.matrix(2, 2);
    for (const bool causal : {false, true}) {
        const auto y = causal ? causal_linear_attention<double> : linear_attention<double>;
        const auto backward = causal ? causal_linear_backward<double> : linear_backward<double>;
        const auto loss = [&] {
            return y(q, k, v, table, kInterleaved, LinearForm::paper, {}).cwiseProduct(d_y).sum();
        };
        const auto grad = backward(q, k, v, table, kInterleaved, LinearForm::paper, d_y, {});
        REQUIRE(max_abs(grad.q) > 0.01);
        check_differences("q", q, grad.q, loss);
        check_differences("k", k, grad.k, loss);
    }
}

TEST_CASE("linear attention backward: float is double, rounded, and what does not fit is named", "[backward]") {
    Numbers numbers(4);
    const std::vector<double> theta = inverse_frequencies(4);
    const Matrix<double> q = numbers.matrix(5, 4), k = numbers.matrix(5, 4), v = numbers.matrix(5, 3),
                         d = numbers.matrix(5, 3);
    const Matrix<float> q_f = q.cast<float>(), k_f = k.cast<float>(), v_f = v.cast<float>(), d_f = d.cast<float>();
    for (const bool causal : {false, true}) {
        const auto exact = (causal ? causal_linear_backward<double>
                                   : linear_backward<double>)(q, k, v, rotary_table<double>(theta, 0, 5), kInterleaved,
                                                              LinearForm::paper, d, {});
        const auto single = (causal ? causal_linear_backward<float>
                                    : linear_backward<float>)(q_f, k_f, v_f, rotary_table<float>(theta, 0, 5),
                                                              kInterleaved, LinearForm::paper, d_f, {});
        CHECK(near(single.q.cast<double>(), exact.q, 1e-5));
        CHECK(near(single.k.cast<double>(), exact.k, 1e-5));
        CHECK(near(single.v.cast<double>(), exact.v, 1e-5));
    }
    CHECK(refusal(
              [&] {
                  linear_backward<double>(q, k, v, rotary_table<double>(theta, 0, 5), kInterleaved, LinearForm::paper,
                                          Matrix<double>(4, 3));
              },
              Fault::usage) == "linear_backward: the gradient of the context is 4 x 3, expected 5 x 3");
}

}  // namespace locus::test::test_linear_backward

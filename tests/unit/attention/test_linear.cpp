#include <catch2/catch.hpp>
#include <cmath>

#include "core/attention/linear.h"
#include "core/products.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

namespace locus::test::test_linear {

namespace {

constexpr LinearForm kForms[] = {LinearForm::paper, LinearForm::rotated_first};

struct Example {
    Matrix<double> q = Matrix<double>::Random(11, 8), k = Matrix<double>::Random(11, 8),
                   v = Matrix<double>::Random(11, 5);
    RotaryTable<double> table = rotary_table<double>(inverse_frequencies(8), 0, 11);
};

}  // namespace

TEST_CASE("linear attention: phi is elu + 1", "[linear][golden]") {
    Matrix<double> x(1, 3);
    x << -1, 0, 1;
    const Matrix<double> phi = positive_features<double>(x);
    CHECK(std::abs(phi(0, 0) - 0.367879) <= 1e-6);
    CHECK(phi(0, 1) == 1);
    CHECK(phi(0, 2) == 2);
}

TEST_CASE("linear attention: the fast forms equal the quadratic form, also with padding", "[linear][law]") {
    const Example e;
    std::vector<bool> padded(11, true);
    padded[0] = padded[10] = false;
    for (const LinearForm form : kForms)
        for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split})
            for (const std::vector<bool>& visible : {std::vector<bool>{}, padded}) {
                const auto weights = [&](bool causal) {
                    return linear_attention_weights<double>(e.q, e.k, e.table, layout, form, causal, visible);
                };
                CHECK(max_abs(linear_attention<double>(e.q, e.k, e.v, e.table, layout, form, visible) -
                              weights(false) * e.v) <= 1e-13);
                CHECK(max_abs(causal_linear_attention<double>(e.q, e.k, e.v, e.table, layout, form, visible) -
                              weights(true) * e.v) <= 1e-13);
                if (!visible.empty()) CHECK(weights(false).col(0).isZero(0));
            }
}

TEST_CASE("linear attention: padding after a text changes nothing in it", "[linear][law]") {
    const Example e;
    std::vector<bool> visible(11, true);
    visible[9] = visible[10] = false;
    for (const LinearForm form : kForms) {
        const auto layout = RotaryLayout::interleaved;
        const Matrix<double> padded = linear_attention<double>(e.q, e.k, e.v, e.table, layout, form, visible);
        const Matrix<double> alone =
            linear_attention<double>(e.q.topRows(9), e.k.topRows(9), e.v.topRows(9), e.table.rows(0, 9), layout, form);
        CHECK(max_abs(padded.topRows(9) - alone) <= 1e-14);
    }
}

TEST_CASE("linear attention: the quadratic form is the printed sum, term by term", "[linear][twin]") {
    const Example e;
    const Matrix<double> found =
        linear_attention_weights<double>(e.q, e.k, e.table, RotaryLayout::interleaved, LinearForm::paper, false);
    const auto phi = [](double x) { return x > 0 ? x + 1 : std::exp(x); };
    for (Index m = 0; m < 11; ++m)
        for (Index n = 0; n < 11; ++n) {
            double numerator = 0, denominator = 0;
            for (Index t = 0; t < 4; ++t) {
                // (R_m a) . (R_n b) in one plane: rotated by (m - n) theta.
                const double angle = static_cast<double>(m - n) * std::pow(10000.0, -2.0 * static_cast<double>(t) / 8);
                const double a0 = phi(e.q(m, 2 * t)), a1 = phi(e.q(m, 2 * t + 1));
                const double b0 = phi(e.k(n, 2 * t)), b1 = phi(e.k(n, 2 * t + 1));
                numerator += (a0 * b0 + a1 * b1) * std::cos(angle) + (a0 * b1 - a1 * b0) * std::sin(angle);
            }
            for (Index key = 0; key < 11; ++key)
                for (Index c = 0; c < 8; ++c) denominator += phi(e.q(m, c)) * phi(e.k(key, c));
            CHECK(std::abs(found(m, n) - numerator / denominator) <= 1e-14);
        }
}

TEST_CASE("linear attention: paper's form moves with the text, the seed's sums to 1, and not the other way round",
          "[linear][law]") {
    const Example e;
    const auto moved = rotary_table<double>(inverse_frequencies(8), 500, 11);
    const auto weights = [&](const RotaryTable<double>& table, LinearForm form) {
        return linear_attention_weights<double>(e.q, e.k, table, RotaryLayout::interleaved, form, false);
    };
    CHECK(max_abs(weights(e.table, LinearForm::paper) - weights(moved, LinearForm::paper)) <= 1e-12);
    CHECK(max_abs(weights(e.table, LinearForm::rotated_first) - weights(moved, LinearForm::rotated_first)) > 1e-3);
    const Matrix<double> paper = weights(e.table, LinearForm::paper).rowwise().sum();
    const Matrix<double> seed = weights(e.table, LinearForm::rotated_first).rowwise().sum();
    CHECK(max_abs(seed.array() - 1) <= 1e-14);
    CHECK(max_abs(paper.array() - 1) > 0.01);
    CHECK(weights(e.table, LinearForm::rotated_first).minCoeff() > 0);
}

TEST_CASE("linear attention: a later token never changes an earlier output in the causal form", "[linear][law]") {
    Example e;
    const auto run = [&] {
        return causal_linear_attention<double>(e.q, e.k, e.v, e.table, RotaryLayout::interleaved, LinearForm::paper);
    };
    const Matrix<double> before = run();
    e.k.row(7).array() += 1;
    e.v.row(7).array() -= 2;
    const Matrix<double> after = run();
    CHECK(before.topRows(7) == after.topRows(7));
    CHECK(max_abs(before.bottomRows(4) - after.bottomRows(4)) > 1e-3);
}

TEST_CASE("linear attention: all keys padded gives zeros, and wrong counts are refused", "[linear][bad]") {
    const Example e;
    const std::vector<bool> none(11, false);
    CHECK(
        linear_attention<double>(e.q, e.k, e.v, e.table, RotaryLayout::interleaved, LinearForm::paper, none).isZero(0));
    const auto refused = [](auto call) { return test::refusal(call, Fault::usage); };
    CHECK(refused([&] {
              linear_attention<double>(e.q, e.k, e.v.topRows(4), e.table, RotaryLayout::interleaved, LinearForm::paper);
          }).find("4 values") != std::string::npos);
    CHECK(refused([&] {
              linear_attention<double>(e.q, e.k, e.v, e.table, RotaryLayout::interleaved, LinearForm::paper, {true});
          }).find("1 marks") != std::string::npos);
}

// Linear attention backwards, plain and causal.

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
        for (const LinearForm form : {LinearForm::paper, LinearForm::rotated_first})
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
    const Matrix<double> weights =
        times_transposed<double>(turned_k, turned_q) / times_transposed<double>(phi_k, phi_q).sum();
    for (const auto backward : {linear_backward<double>, causal_linear_backward<double>}) {
        const auto grad = backward(q, k, v, table, kInterleaved, LinearForm::paper, d_y, {});
        CHECK(max_abs(grad.v - times<double>(weights, d_y.bottomRows(1))) <= rounding(4 * kTokens, 1.0 / kTokens));
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

}  // namespace locus::test::test_linear

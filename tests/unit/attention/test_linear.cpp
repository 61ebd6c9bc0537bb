#include <catch2/catch.hpp>
#include <cmath>

#include "core/attention/linear.h"
#include "tests/files.h"
#include "tests/max_abs.h"

namespace locus::test::test_linear {

namespace {

constexpr LinearForm kForms[] = {LinearForm::paper, LinearForm::seed};

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

TEST_CASE("linear attention: padding behind a text changes nothing in it", "[linear][law]") {
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
                // (R_m a) . (R_n b) in one plane: turned by (m - n) theta.
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
    CHECK(max_abs(weights(e.table, LinearForm::seed) - weights(moved, LinearForm::seed)) > 1e-3);
    const Matrix<double> paper = weights(e.table, LinearForm::paper).rowwise().sum();
    const Matrix<double> seed = weights(e.table, LinearForm::seed).rowwise().sum();
    CHECK(max_abs(seed.array() - 1) <= 1e-14);
    CHECK(max_abs(paper.array() - 1) > 0.01);
    CHECK(weights(e.table, LinearForm::seed).minCoeff() > 0);
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

}  // namespace locus::test::test_linear

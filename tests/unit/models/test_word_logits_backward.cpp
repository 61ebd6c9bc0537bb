// From the loss of a word back to the word table.
#include <catch2/catch.hpp>

#include "core/models/layers.h"
#include "core/models/word_logits.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/seeded.h"

namespace locus::test::test_word_logits_backward {

TEST_CASE("cross entropy backward: torch's autograd of the mean over targets", "[backward][oracle]") {
    const GradientCase recorded("grads_blocks");
    const Matrix<double> logits = recorded.input("cross_entropy.logits");
    const auto& labels = recorded.inputs.at("cross_entropy.labels").as<std::int64_t>();
    const double d_y = recorded.input("cross_entropy.d_y")(0, 0) / static_cast<double>(logits.rows());
    Matrix<double> d_logits(logits.rows(), logits.cols());
    double loss = 0;
    for (Index n = 0; n < logits.rows(); ++n) {
        loss += cross_entropy<double>(logits.row(n), labels[n]) / static_cast<double>(logits.rows());
        d_logits.row(n) = cross_entropy_backward<double>(logits.row(n), labels[n]) * d_y;
    }
    CHECK(recorded.agrees(Matrix<double>::Constant(1, 1, loss), "cross_entropy.y"));
    CHECK(recorded.agrees(d_logits, "cross_entropy.grad.logits"));
}

TEST_CASE("cross entropy backward: central differences; the row sums to 0, and logits of 1000 overflow nothing",
          "[backward]") {
    Numbers numbers(1);
    RowVector<double> logits = numbers.matrix(1, 9) * 3;
    const RowVector<double> d_logits = cross_entropy_backward<double>(logits, 4);
    check_differences("logits", logits, d_logits, [&] { return cross_entropy<double>(logits, 4); });
    CHECK(std::abs(d_logits.sum()) <= rounding(10, 1));
    CHECK(d_logits[4] < 0);
    logits.array() += 1000;
    CHECK(near(cross_entropy_backward<double>(logits, 4), d_logits));
    CHECK(refusal([&] { cross_entropy_backward<double>(logits, 9); }, Fault::usage) ==
          "labels holds 9, expected ids from 0 to 8");
}

TEST_CASE("word logits backward: central differences, and the tied table gets both of its uses", "[backward]") {
    Numbers numbers(2);
    Matrix<double> table = numbers.matrix(8, 3);
    RowVector<double> bias = numbers.matrix(1, 8);
    const std::vector<std::int64_t> ids = {5, 0, 5, 2};  // 5 stands twice
    const Matrix<double> weights = numbers.matrix(4, 8);
    const auto forward = [&](const Matrix<double>& x) {
        return word_logits<double>(
            x, [&](Index first, Index count) { return Matrix<double>(table.middleRows(first, count)); }, 8, bias);
    };
    const auto looked_up = [&] {
        Matrix<double> x = Matrix<double>::Zero(4, 3);
        add_rows<double>(table, ids, x);
        return x;
    };
    Matrix<double> x = looked_up();
    auto grad = word_logits_backward<double>(x, table, weights);
    check_differences("x", x, grad.x, [&] { return forward(x).cwiseProduct(weights).sum(); });
    check_differences("bias", bias, grad.bias, [&] { return forward(x).cwiseProduct(weights).sum(); });
    check_differences("table as output", table, grad.table, [&] { return forward(x).cwiseProduct(weights).sum(); });
    scatter_rows<double>(ids, grad.x, grad.table);
    check_differences("table as both", table, grad.table,
                      [&] { return forward(looked_up()).cwiseProduct(weights).sum(); });
}

TEST_CASE("scatter rows: words never looked up learn exactly nothing, nor does the dropped one", "[backward][law]") {
    Numbers numbers(3);
    const Matrix<double> d_rows = numbers.matrix(4, 3);
    Matrix<double> d_table = Matrix<double>::Zero(6, 3);
    scatter_rows<double>({4, 0, 4, 2}, d_rows, d_table);
    CHECK(d_table.row(4) == d_rows.row(0) + d_rows.row(2));
    CHECK(d_table.row(0) == d_rows.row(1));
    for (const Index never : {1, 3, 5}) CHECK(d_table.row(never).isZero(0));
    Matrix<double> without = Matrix<double>::Zero(6, 3);
    scatter_rows<double>({4, 0, 4, 2}, d_rows, without, 0);
    CHECK(without.row(0).isZero(0));
    CHECK(without.bottomRows(5) == d_table.bottomRows(5));
    CHECK(refusal(
              [&] {
                  scatter_rows<double>({4, 0, 6, 2}, d_rows, d_table);
              },
              Fault::usage) == "scatter_rows: row 6, expected 0 to 5");
    CHECK(refusal([&] { scatter_rows<double>({4}, d_rows, d_table); }, Fault::usage) ==
          "scatter_rows: d_rows is 4 x 3, expected 1 x 3");
    CHECK(refusal([&] { word_logits_backward<double>(d_rows, d_table, d_rows); }, Fault::usage) ==
          "word_logits_backward: d_logits is 4 x 3, expected 4 x 6");
}

TEST_CASE("word logits backward: float is double, rounded", "[backward]") {
    Numbers numbers(4);
    const Matrix<double> x = numbers.matrix(4, 3), table = numbers.matrix(6, 3), d_logits = numbers.matrix(4, 6);
    const auto exact = word_logits_backward<double>(x, table, d_logits);
    const auto single = word_logits_backward<float>(Matrix<float>(x.cast<float>()), Matrix<float>(table.cast<float>()),
                                                    Matrix<float>(d_logits.cast<float>()));
    CHECK(near(single.x.cast<double>(), exact.x, 1e-6));
    CHECK(near(single.table.cast<double>(), exact.table, 1e-6));
    CHECK(near(single.bias.cast<double>(), exact.bias, 1e-6));
    const RowVector<float> logits = x.row(0).cast<float>();
    CHECK(near(cross_entropy_backward<float>(logits, 1).cast<double>(), cross_entropy_backward<double>(x.row(0), 1),
               1e-6));
    Matrix<float> summed = Matrix<float>::Zero(2, 3);
    scatter_rows<float>({1, 1, 0, 1}, Matrix<float>(x.cast<float>()), summed);
    CHECK(near(summed.row(1).cast<double>(), x.row(0) + x.row(1) + x.row(3), 1e-6));
}

}  // namespace locus::test::test_word_logits_backward

// Attention with and without rotated operands backwards.
#include <catch2/catch.hpp>

#include "core/attention/rotary.h"
#include "core/attention/scaled_dot_product.h"
#include "core/products.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/seeded.h"

namespace locus::test::test_rotary_backward {

namespace {

constexpr RotaryLayout kLayouts[] = {RotaryLayout::interleaved, RotaryLayout::half_split};

/// The forward pass of one head from what is in it; leaves probs.
Matrix<double> forward(RotaryHead<double>& head, const RotaryTable<double>& table, RotaryLayout layout,
                       const Mask& mask) {
    head.probs = masked_softmax<double>(rotary_scores<double>(head.q, head.k, table, table, layout), mask);
    Matrix<double> dropped = head.probs;
    if (head.keep.size() > 0) dropped.array() *= head.keep.array();
    return times<double>(dropped, head.rotates_values ? rotate<double>(head.v, table, layout) : head.v);
}

}  // namespace

TEST_CASE("rotary backward: torch's autograd of transformers' RoFormer, values still and rotated",
          "[backward][oracle]") {
    for (const std::string name : {"grads_rope", "grads_rope_value"}) {
        const GradientCase recorded(name);
        const Index heads = recorded.json["probes"]["H"], width = recorded.json["probes"]["d"];
        const auto& masks = recorded.inputs.at("mask").as<std::int64_t>();
        const RotaryTable<double> table{recorded.input("sin"), recorded.input("cos")};
        for (Index at = 0; at < masks.extent(0) * heads; ++at) {
            INFO(name << ", head " << at);
            const Index b = at / heads, begin = at % heads * width;
            RotaryHead<double> head{recorded.input("q", at),
                                    recorded.input("k", at),
                                    recorded.input("v", at),
                                    {},
                                    {},
                                    recorded.json["probes"]["rotary_value"]};
            Mask mask(head.q.rows(), head.k.rows());
            for (Index j = 0; j < mask.cols(); ++j) mask.col(j).setConstant(masks[b * mask.cols() + j] != 0);
            const Matrix<double> context = forward(head, table, RotaryLayout::interleaved, mask);
            CHECK(near(context, recorded.recorded("context", b).middleCols(begin, width)));
            const Matrix<double> d_context = recorded.input("d_context", b).middleCols(begin, width);
            const auto grad = rotary_backward<double>(head, table, RotaryLayout::interleaved, d_context);
            CHECK(recorded.agrees(grad.q, "grad.q", at));
            CHECK(recorded.agrees(grad.k, "grad.k", at));
            CHECK(recorded.agrees(grad.v, "grad.v", at));
        }
    }
}

TEST_CASE("rotary backward: central differences, both layouts, partial turns, dropout, values rotated or not",
          "[backward]") {
    Numbers numbers(1);
    for (const RotaryLayout layout : kLayouts)
        for (const Index planes : {2, 3})
            for (const bool rotates_values : {false, true}) {
                std::vector<double> theta = inverse_frequencies(2 * planes);
                const RotaryTable<double> table = rotary_table<double>(theta, 3, 5, 1.25);  // YaRN's factor as well
                RotaryHead<double> head{numbers.matrix(5, 6), numbers.matrix(5, 6), numbers.matrix(5, 6), {}, {},
                                        rotates_values};
                head.keep = numbers.matrix(5, 5).unaryExpr([](double x) { return x > -0.5 ? 4.0 / 3 : 0.0; });
                Mask mask = Mask::Ones(5, 5);
                mask.col(3).setZero();
                mask(2, 0) = 0;
                const Matrix<double> d_context = numbers.matrix(5, 6);
                const auto loss = [&] {
                    RotaryHead<double> moved = head;
                    return forward(moved, table, layout, mask).cwiseProduct(d_context).sum();
                };
                forward(head, table, layout, mask);
                const auto grad = rotary_backward<double>(head, table, layout, d_context);
                check_differences("q", head.q, grad.q, loss);
                check_differences("k", head.k, grad.k, loss);
                check_differences("v", head.v, grad.v, loss);
                CHECK((grad.k.row(3).isZero(0) && grad.v.row(3).isZero(0)));
            }
}

TEST_CASE("rotate back: it is the gradient of rotate, and undoes it where nothing is stretched", "[backward][law]") {
    Numbers numbers(2);
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(6), 0, 7);
    for (const RotaryLayout layout : kLayouts) {
        Matrix<double> x = numbers.matrix(7, 8);
        const Matrix<double> d_y = numbers.matrix(7, 8), d_x = rotate_back<double>(d_y, table, layout);
        check_differences("x", x, d_x, [&] { return rotate<double>(x, table, layout).cwiseProduct(d_y).sum(); });
        CHECK(near(rotate<double>(d_x, table, layout), d_y, rounding(4, 2)));
        // The transpose, whatever the numbers: <R x, y> = <x, R^T y>.
        CHECK(std::abs(rotate<double>(x, table, layout).cwiseProduct(d_y).sum() - x.cwiseProduct(d_x).sum()) <=
              rounding(60, 4));
    }
}

TEST_CASE("rotary backward: a rotation by 0 is attention without positions", "[backward][law]") {
    Numbers numbers(3);
    const RotaryTable<double> still{Matrix<double>::Zero(4, 3), Matrix<double>::Ones(4, 3)};
    RotaryHead<double> head{numbers.matrix(4, 6), numbers.matrix(4, 6), numbers.matrix(4, 2), {}, {}};
    forward(head, still, RotaryLayout::interleaved, {});
    const Matrix<double> d_context = numbers.matrix(4, 2);
    const auto rotated = rotary_backward<double>(head, still, RotaryLayout::interleaved, d_context);
    const auto plain = scaled_dot_product_backward<double>(head.q, head.k, head.v, head.probs, head.keep, d_context);
    CHECK(rotated.q == plain.q);
    CHECK(rotated.k == plain.k);
    CHECK(rotated.v == plain.v);
}

TEST_CASE("scaled dot product backward: central differences; queries and keys need not be as many", "[backward]") {
    Numbers numbers(4);
    Matrix<double> q = numbers.matrix(3, 4) * 2, k = numbers.matrix(6, 4) * 2, v = numbers.matrix(6, 5);
    const Matrix<double> d_context = numbers.matrix(3, 5);
    Mask mask = Mask::Ones(3, 6);
    mask.row(1).setZero();
    mask.col(4).setZero();
    const auto loss = [&] { return scaled_dot_product<double>(q, k, v, mask).cwiseProduct(d_context).sum(); };
    const Matrix<double> probs = masked_softmax<double>(times_transposed<double>(q, k) / 2, mask);
    const auto grad = scaled_dot_product_backward<double>(q, k, v, probs, Matrix<double>(), d_context);
    check_differences("q", q, grad.q, loss);
    check_differences("k", k, grad.k, loss);
    check_differences("v", v, grad.v, loss);
    CHECK(grad.q.row(1).isZero(0));  // it saw nobody
    CHECK((grad.k.row(4).isZero(0) && grad.v.row(4).isZero(0)));
}

TEST_CASE("rotary backward: float is double, rounded, and what does not fit is named", "[backward]") {
    Numbers numbers(5);
    const std::vector<double> theta = inverse_frequencies(4);
    RotaryHead<double> head{numbers.matrix(3, 4), numbers.matrix(3, 4), numbers.matrix(3, 4), {}, {}, true};
    forward(head, rotary_table<double>(theta, 0, 3), RotaryLayout::half_split, {});
    const RotaryHead<float> head_f{
        head.q.cast<float>(), head.k.cast<float>(), head.v.cast<float>(), head.probs.cast<float>(), {}, true};
    const Matrix<double> d = numbers.matrix(3, 4);
    const auto exact = rotary_backward<double>(head, rotary_table<double>(theta, 0, 3), RotaryLayout::half_split, d);
    const auto single = rotary_backward<float>(head_f, rotary_table<float>(theta, 0, 3), RotaryLayout::half_split,
                                               Matrix<float>(d.cast<float>()));
    CHECK(near(single.q.cast<double>(), exact.q, 1e-6));
    CHECK(near(single.k.cast<double>(), exact.k, 1e-6));
    CHECK(near(single.v.cast<double>(), exact.v, 1e-6));
    head.probs.resize(2, 3);
    CHECK(
        refusal([&] { rotary_backward<double>(head, rotary_table<double>(theta, 0, 3), RotaryLayout::half_split, d); },
                Fault::usage) == "dot_product_backward: probs is 2 x 3, expected 3 x 3");
}

}  // namespace locus::test::test_rotary_backward

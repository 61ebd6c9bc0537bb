// The small parts of every transformer: their bits in memory, and their backward passes against torch's autograd,
// against differences, and against what a derivative must be whatever its formula.
#include <catch2/catch.hpp>

#include "core/models/layers.h"
#include "core/models/word_logits.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/seeded.h"

namespace locus::test::test_layers {

namespace {

const GradientCase& blocks() {
    static const GradientCase recorded("grads_blocks");
    return recorded;
}

/// All leading axes as rows: [B,T,D] -> [B*T,D].
Matrix<double> rows_of(const Trace& from, const std::string& name) { return from.at(name).as<double>().rows(); }
Matrix<double> given(const std::string& name) { return rows_of(blocks().inputs, name); }
bool is_recorded(const Matrix<double>& found, const std::string& name) {
    return near(found, rows_of(blocks().trace, name), blocks().tolerance);
}

double weighted(const Matrix<double>& y, const Matrix<double>& weights) { return y.cwiseProduct(weights).sum(); }

constexpr Activation kActivations[] = {Activation::gelu, Activation::gelu_tanh, Activation::relu, Activation::tanh};

}  // namespace

TEMPLATE_TEST_CASE("layer norm: the same bits wherever the numbers lie in memory", "[layers]", float, double) {
    constexpr Index kRows = 3, kWidth = 29;  // no multiple of what a register holds
    const Matrix<TestType> values = Matrix<TestType>::Random(kRows, kWidth) * 100;
    const Norm<TestType> norm{RowVector<TestType>::Random(kWidth), RowVector<TestType>::Random(kWidth)};
    const Matrix<TestType> expected = layer_norm<TestType>(values, norm, 1e-7);
    std::vector<TestType> memory(static_cast<std::size_t>(kRows * kWidth) + 16);
    for (std::size_t shift = 0; shift < 16; ++shift) {
        Eigen::Map<Matrix<TestType>> moved(memory.data() + shift, kRows, kWidth);
        moved = values;
        CHECK(layer_norm<TestType>(ConstView<TestType>(moved), norm, 1e-7) == expected);
    }
}

TEST_CASE("dense backward: torch's autograd", "[backward][oracle]") {
    const Dense<double> layer{given("linear.weight"), given("linear.bias")};
    CHECK(is_recorded(dense<double>(given("linear.x"), layer), "linear.y"));
    const auto grad = dense_backward<double>(given("linear.x"), layer, given("linear.d_y"));
    CHECK(is_recorded(grad.x, "linear.grad.x"));
    CHECK(is_recorded(grad.weight, "linear.grad.weight"));
    CHECK(is_recorded(grad.bias, "linear.grad.bias"));
}

TEST_CASE("dense backward: central differences; no bias, no gradient of one", "[backward]") {
    Numbers numbers(1);
    Matrix<double> x = numbers.matrix(5, 4);
    Dense<double> layer{numbers.matrix(3, 4), numbers.matrix(1, 3)};
    const Matrix<double> d_y = numbers.matrix(5, 3);
    const auto loss = [&] { return weighted(dense<double>(x, layer), d_y); };
    const auto grad = dense_backward<double>(x, layer, d_y);
    check_differences("x", x, grad.x, loss);
    check_differences("weight", layer.weight, grad.weight, loss);
    check_differences("bias", layer.bias, grad.bias, loss);
    layer.bias.resize(0);
    CHECK(dense_backward<double>(x, layer, d_y).bias.size() == 0);
}

TEST_CASE("layer norm backward: torch's autograd", "[backward][oracle]") {
    const Norm<double> norm{given("layer_norm.weight"), given("layer_norm.bias")};
    CHECK(is_recorded(layer_norm<double>(given("layer_norm.x"), norm, 1e-7), "layer_norm.y"));
    const auto grad = layer_norm_backward<double>(given("layer_norm.x"), norm, 1e-7, given("layer_norm.d_y"));
    CHECK(is_recorded(grad.x, "layer_norm.grad.x"));
    CHECK(is_recorded(grad.weight, "layer_norm.grad.weight"));
    CHECK(is_recorded(grad.bias, "layer_norm.grad.bias"));
}

TEST_CASE("layer norm backward: central differences, with and without an affine part", "[backward]") {
    Numbers numbers(2);
    Matrix<double> x = numbers.matrix(4, 7);
    const Matrix<double> d_y = numbers.matrix(4, 7);
    constexpr double kEps = 0.02;  // large, so that its place inside the root shows
    Norm<double> norm{numbers.matrix(1, 7), numbers.matrix(1, 7)};
    const auto loss = [&] { return weighted(layer_norm<double>(x, norm, kEps), d_y); };
    const auto grad = layer_norm_backward<double>(x, norm, kEps, d_y);
    check_differences("x", x, grad.x, loss);
    check_differences("weight", norm.weight, grad.weight, loss);
    check_differences("bias", norm.bias, grad.bias, loss);
    norm = {};
    const auto plain = layer_norm_backward<double>(x, norm, kEps, d_y);
    check_differences("x without an affine part", x, plain.x, loss);
    CHECK(plain.weight.size() == 0);
    CHECK(plain.bias.size() == 0);
}

TEST_CASE("layer norm backward: what moves neither mean nor spread is all that is left", "[backward][law]") {
    Numbers numbers(3);
    const Matrix<double> x = numbers.matrix(6, 9), d_y = numbers.matrix(6, 9);
    const Norm<double> norm{numbers.matrix(1, 9), numbers.matrix(1, 9)};
    const Matrix<double> d_x = layer_norm_backward<double>(x, norm, 0, d_y).x;
    const Matrix<double> xhat = layer_norm<double>(x, {}, 0);
    for (Index n = 0; n < x.rows(); ++n) {
        CHECK(std::abs(d_x.row(n).sum()) <= rounding(40, d_x.row(n).lpNorm<1>()));
        CHECK(std::abs(d_x.row(n).dot(xhat.row(n))) <= rounding(40, d_x.row(n).lpNorm<1>() * 3));
        CHECK(d_x.row(n).norm() > 0.1);
    }
}

TEST_CASE("activation backward: torch's autograd of both gelus", "[backward][oracle]") {
    for (const auto& [name, activation] :
         {std::pair<std::string, Activation>{"gelu_erf", Activation::gelu}, {"gelu_tanh", Activation::gelu_tanh}}) {
        INFO(name);
        const Matrix<double> x = given(name + ".x");
        CHECK(is_recorded(activate<double>(x, activation), name + ".y"));
        CHECK(is_recorded(activate_backward<double>(x, activation, given(name + ".d_y")), name + ".grad.x"));
    }
}

TEST_CASE("activation backward: central differences of every activation, far out as well", "[backward]") {
    Numbers numbers(4);
    for (const Activation activation : kActivations) {
        INFO("activation " << static_cast<int>(activation));
        Matrix<double> x = numbers.matrix(5, 6) * 8;  // some beyond where every curve is straight
        const Matrix<double> d_y = numbers.matrix(5, 6);
        REQUIRE((activation != Activation::relu || x.cwiseAbs().minCoeff() > 1e-4));  // a corner at 0
        const Matrix<double> d_x = activate_backward<double>(x, activation, d_y);
        check_differences("x", x, d_x, [&] { return weighted(activate<double>(x, activation), d_y); });
    }
}

TEST_CASE("activation backward: at 0, and infinitely far out, the slopes are exact", "[backward][law]") {
    Matrix<double> x(1, 3);
    x << 0, 60, -60;
    const auto slopes = [&](Activation activation) {
        return activate_backward<double>(x, activation, Matrix<double>::Ones(1, 3));
    };
    const auto is = [](const Matrix<double>& found, double at_0, double right, double left) {
        return found(0, 0) == at_0 && found(0, 1) == right && found(0, 2) == left;
    };
    CHECK(is(slopes(Activation::gelu), 0.5, 1, 0));
    CHECK(is(slopes(Activation::gelu_tanh), 0.5, 1, 0));
    CHECK(is(slopes(Activation::relu), 0, 1, 0));
    CHECK(is(slopes(Activation::tanh), 1, 0, 0));
}

TEST_CASE("convolution backward: torch's autograd", "[backward][oracle]") {
    const auto& weight = blocks().inputs.at("conv1d.weight").as<double>();
    const Index out = weight.extent(0), in_taps = weight.extent(1) * weight.extent(2);
    const Convolution<double> layer{Eigen::Map<const Matrix<double>>(weight.data(), out, in_taps), given("conv1d.bias"),
                                    weight.extent(2), 1};
    Matrix<double> d_weight = Matrix<double>::Zero(out, in_taps);
    RowVector<double> d_bias = RowVector<double>::Zero(out);
    for (Index b = 0; b < 2; ++b) {
        const Matrix<double> x = blocks().input("conv1d.x", b);
        CHECK(blocks().agrees(convolve<double>(x, layer), "conv1d.y", b));
        const auto grad = convolve_backward<double>(x, layer, blocks().input("conv1d.d_y", b));
        CHECK(blocks().agrees(grad.x, "conv1d.grad.x", b));
        d_weight += grad.weight;
        d_bias += grad.bias;
    }
    const auto& recorded = blocks().trace.at("conv1d.grad.weight").as<double>();
    CHECK(near(d_weight, Eigen::Map<const Matrix<double>>(recorded.data(), out, in_taps)));
    CHECK(is_recorded(d_bias, "conv1d.grad.bias"));
}

TEST_CASE("convolution backward: central differences over kernels, groups and texts shorter than the kernel",
          "[backward]") {
    Numbers numbers(5);
    for (const Index kernel : {1, 3, 5})
        for (const Index groups : {1, 2})
            for (const Index tokens : {1, 2, 7}) {
                INFO("kernel " << kernel << ", groups " << groups << ", tokens " << tokens);
                Matrix<double> x = numbers.matrix(tokens, 4);
                Convolution<double> layer{numbers.matrix(6, 4 / groups * kernel), numbers.matrix(1, 6), kernel, groups};
                const Matrix<double> d_y = numbers.matrix(tokens, 6);
                const auto loss = [&] { return weighted(convolve<double>(x, layer), d_y); };
                const auto grad = convolve_backward<double>(x, layer, d_y);
                check_differences("x", x, grad.x, loss);
                check_differences("weight", layer.weight, grad.weight, loss);
                check_differences("bias", layer.bias, grad.bias, loss);
            }
}

TEST_CASE("convolution backward: a tap that never met the text learns nothing", "[backward][law]") {
    Numbers numbers(6);
    const Convolution<double> layer{numbers.matrix(2, 3 * 5), numbers.matrix(1, 2), 5, 1};
    // Two tokens: of five taps, the outermost reach two places to either side, where nothing stands.
    const auto grad = convolve_backward<double>(numbers.matrix(2, 3), layer, numbers.matrix(2, 2));
    for (Index in = 0; in < 3; ++in)
        for (const Index tap : {0, 4}) CHECK(grad.weight.col(in * 5 + tap).isZero(0));
    CHECK(!grad.weight.col(1).isZero(0));
}

TEST_CASE("layers backward: float is double, rounded", "[backward]") {
    Numbers numbers(7);
    const Matrix<double> x = numbers.matrix(5, 6), d_y = numbers.matrix(5, 6), weight = numbers.matrix(6, 6);
    const Matrix<double> bias = numbers.matrix(1, 6);
    const auto close = [](const Matrix<float>& found, const Matrix<double>& expected) {
        return near(found.cast<double>(), expected, 1e-5);
    };
    const Matrix<float> x_f = x.cast<float>(), d_y_f = d_y.cast<float>();
    const auto dense_f = dense_backward<float>(x_f, {weight.cast<float>(), bias.cast<float>()}, d_y_f);
    const auto dense_d = dense_backward<double>(x, {weight, bias}, d_y);
    CHECK((close(dense_f.x, dense_d.x) && close(dense_f.weight, dense_d.weight) && close(dense_f.bias, dense_d.bias)));
    const auto norm_f = layer_norm_backward<float>(x_f, {bias.cast<float>(), bias.cast<float>()}, 1e-5, d_y_f);
    const auto norm_d = layer_norm_backward<double>(x, {bias, bias}, 1e-5, d_y);
    CHECK((close(norm_f.x, norm_d.x) && close(norm_f.weight, norm_d.weight) && close(norm_f.bias, norm_d.bias)));
    for (const Activation activation : kActivations)
        CHECK(close(activate_backward<float>(x_f, activation, d_y_f), activate_backward<double>(x, activation, d_y)));
    const Matrix<double> taps = numbers.matrix(6, 9);
    const auto conv_f = convolve_backward<float>(x_f, {taps.cast<float>(), bias.cast<float>(), 3, 2}, d_y_f);
    const auto conv_d = convolve_backward<double>(x, {taps, bias, 3, 2}, d_y);
    CHECK((close(conv_f.x, conv_d.x) && close(conv_f.weight, conv_d.weight) && close(conv_f.bias, conv_d.bias)));
}

TEST_CASE("layers backward: what does not fit is named", "[backward]") {
    const auto zero = [](Index rows, Index cols) { return Matrix<double>(Matrix<double>::Zero(rows, cols)); };
    const Dense<double> layer{zero(3, 4), {}};
    CHECK(refusal([&] { dense_backward<double>(zero(2, 5), layer, zero(2, 3)); }, Fault::usage) ==
          "dense_backward: x is 2 x 5, expected 2 x 4");
    CHECK(refusal([&] { dense_backward<double>(zero(2, 4), layer, zero(3, 3)); }, Fault::usage) ==
          "dense_backward: d_y is 3 x 3, expected 2 x 3");
    CHECK(refusal([&] { layer_norm_backward<double>(zero(2, 4), {}, 1e-7, zero(2, 3)); }, Fault::usage) ==
          "layer_norm_backward: d_y is 2 x 3, expected 2 x 4");
    CHECK(refusal(
              [&] {
                  layer_norm_backward<double>(zero(2, 4), {zero(1, 5), zero(1, 5)}, 1e-7, zero(2, 4));
              },
              Fault::usage) == "layer_norm_backward: weight is 1 x 5, expected 1 x 4");
    CHECK(refusal([&] { activate_backward<double>(zero(2, 4), Activation::relu, zero(1, 4)); }, Fault::usage) ==
          "activate_backward: d_y is 1 x 4, expected 2 x 4");
    CHECK(refusal(
              [&] {
                  convolve_backward<double>(zero(2, 4), {zero(2, 9), zero(1, 2), 3, 1}, zero(2, 2));
              },
              Fault::usage) == "convolve_backward: x is 2 x 4, expected 2 x 3");
}

TEST_CASE("layers: what does not fit is refused in a sentence", "[layers]") {
    Numbers numbers(3);
    const Matrix<double> x = numbers.matrix(4, 6);
    const auto row = [&](Index width) -> RowVector<double> { return numbers.matrix(1, width); };
    const auto says = [](const auto& call, const std::string& sentence) {
        return refusal(call, Fault::usage).starts_with(sentence);
    };
    for (const Index wide : {5, 7, 12}) {
        INFO(wide);
        const std::string found = "is 1 x " + std::to_string(wide) + ", expected 1 x ";
        CHECK(says([&] { dense<double>(x, {numbers.matrix(3, 6), row(wide)}); }, "dense: bias " + found + "3"));
        CHECK(says([&] { layer_norm<double>(x, {row(wide), row(6)}, 0); }, "layer_norm: weight " + found + "6"));
        CHECK(says([&] { layer_norm<double>(x, {row(6), row(wide)}, 0); }, "layer_norm: bias " + found + "6"));
        CHECK(says(
            [&] {
                layer_norm_backward<double>(x, {row(6), row(wide)}, 0, x);
            },
            "layer_norm_backward: bias " + found + "6"));
        CHECK(says(
            [&] {
                convolve<double>(x, {numbers.matrix(4, 18), row(wide), 3, 1});
            },
            "convolve: bias " + found + "4"));
        CHECK(says(
            [&] {
                word_logits<double>(
                    x, [&](Index, Index count) { return numbers.matrix(count, 6); }, 9, row(wide));
            },
            "word_logits: bias " + found + "9"));
    }
    CHECK(says([&] { layer_norm<double>(x, {row(6), {}}, 0); }, "layer_norm: bias is 1 x 0, expected 1 x 6"));
    CHECK(says([&] { layer_norm<double>(Matrix<double>(2, 0), {}, 0); },
               "layer_norm: rows of 0 numbers, expected one or more"));
    CHECK(says([&] { layer_norm<double>(x, {{}, row(6)}, 0); }, "layer_norm: weight is 1 x 0, expected 1 x 6"));
    const auto five = [&](Index, Index count) { return numbers.matrix(count, 5); };
    CHECK(says([&] { word_logits<double>(x, five, 9, {}); },
               "word_logits: a block of the table is 9 x 5, expected 9 x 6"));
}

TEST_CASE("layers: a kernel without a middle and groups that do not fit are refused", "[layers]") {
    Numbers numbers(4);
    const Matrix<double> x = numbers.matrix(5, 6), d_y = numbers.matrix(5, 4);
    const auto with = [&](Index kernel, Index groups) {
        return Convolution<double>{numbers.matrix(4, 12), numbers.matrix(1, 4), kernel, groups};
    };
    for (const Index kernel : {0, -1, 2, 4}) {
        const std::string sentence = ": kernel is " + std::to_string(kernel) + ", expected an odd number";
        CHECK(refusal([&] { convolve<double>(x, with(kernel, 1)); }, Fault::usage) == "convolve" + sentence);
        CHECK(refusal([&] { convolve_backward<double>(x, with(kernel, 1), d_y); }, Fault::usage) ==
              "convolve_backward" + sentence);
    }
    for (const Index groups : {0, 3})
        CHECK(refusal([&] { convolve<double>(x, with(3, groups)); }, Fault::usage).find("divisor of the 4 outputs") !=
              std::string::npos);
    CHECK(refusal([&] { convolve<double>(x, with(5, 1)); }, Fault::usage) ==
          "convolve: weight has 12 columns, expected a multiple of the kernel 5");
}

TEST_CASE("layers: heads of a tensor of another rank are refused", "[layers]") {
    const Tensor<double> flat({4, 6}), three({2, 4, 6});
    for (const Index heads : {0, -2})
        CHECK(refusal([&] { split_heads<double>(three, heads); }, Fault::usage) ==
              "split_heads: " + std::to_string(heads) + " heads, expected at least 1");
    CHECK(refusal([&] { split_heads<double>(flat, 2); }, Fault::usage) ==
          "split_heads: a tensor of [4, 6], expected [B,T,H*d]");
    CHECK(refusal([&] { join_heads<double>(three); }, Fault::usage) ==
          "join_heads: a tensor of [2, 4, 6], expected [B,H,T,d]");
    CHECK(refusal([&] { mix_heads<double>(flat, Matrix<double>(6, 6)); }, Fault::usage) ==
          "mix_heads: a tensor of [4, 6], expected [B,H,Tq,Tk]");
}

}  // namespace locus::test::test_layers

// Products: the very text of the kernels, run lane after lane on the host, against sums in float64.
#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "core/models/layers.h"
#include "core/products.h"
#include "cuda/encoder/product_kernels.h"
#include "tests/cuda/emulated_backend.h"
#include "tests/cuda/guard_page.h"
#include "tests/cuda/near.h"

namespace locus::test::test_cuda_products {

using cuda::Bfloat16;
using cuda::Half;

namespace {

struct Sizes {
    int rows, columns, depth;
    int gap = 0;  // between rows of each matrix
};

/// What `run` makes of random matrices, cell by cell.
template <class Scalar, class Run>
void check_product(const Sizes& at, bool bias, const Activation* activation, Run run, bool between = false) {
    INFO(at.rows << " x " << at.columns << " x " << at.depth << ", gap " << at.gap << (bias ? ", bias" : "")
                 << (activation ? ", activation" : ""));
    std::mt19937 random(5);
    const Rounded<Scalar> a(at.rows, at.depth + at.gap, 1, random), b(at.columns, at.depth + at.gap, 1, random);
    const Rounded<float> added(1, at.columns, 1, random);
    const int c_row = at.columns + at.gap;
    Guarded<Scalar> c(static_cast<std::size_t>((at.rows - 1) * c_row + at.columns));
    for (int i = 0; i + 1 < at.rows; ++i)  // nothing may write the gaps
        for (int g = 0; g < at.gap; ++g) c.data()[i * c_row + at.columns + g] = cuda::from_float<Scalar>(7);
    cuda::ProductArguments<Scalar> args{a.narrow.data(), b.narrow.data(), c.data(),          nullptr,           at.rows,
                                        at.columns,      at.depth,        at.depth + at.gap, at.depth + at.gap, c_row};
    if (bias) args.bias = added.narrow.data();
    args.activates = activation != nullptr;
    if (activation) args.activation = *activation;
    run(args);

    const Matrix<double> left = a.wide.leftCols(at.depth), right = b.wide.leftCols(at.depth);
    Matrix<double> expected = times_transposed<double>(left, right);
    Matrix<double> sizes = times_transposed<double>(left.cwiseAbs(), right.cwiseAbs());
    if (bias) {
        expected.rowwise() += RowVector<double>(added.wide.row(0));
        sizes.rowwise() += RowVector<double>(added.wide.row(0).cwiseAbs());
    }
    if (activation) expected = activate<double>(expected, *activation);
    int wrong = 0;
    for (int i = 0; i < at.rows; ++i)
        for (int j = 0; j < c_row && (j < at.columns || i + 1 < at.rows); ++j) {
            const double found = cuda::to_float(c.data()[i * c_row + j]);
            if (j >= at.columns) {
                wrong += found != 7;
                continue;
            }
            const double bound = product_rounding<Scalar>(sizes(i, j), at.depth, expected(i, j)) +
                                 (between ? rounded_between<Scalar>(sizes(i, j)) : 0);
            wrong += !(std::abs(found - expected(i, j)) <= bound);
        }
    CHECK(wrong == 0);
    CHECK(c.guards_hold());
}

constexpr Activation kGelu = Activation::gelu, kTanh = Activation::tanh;

template <class Scalar, class Run>
void check_edges(Run run) {
    for (const int rows : {1, 15, 16, 63, 64, 65})
        for (const int columns : {2, 8, 62, 64, 66})
            for (const int depth : {8, 64, 72}) check_product<Scalar>({rows, columns, depth}, true, nullptr, run);
    check_product<Scalar>({70, 130, 200, 8}, false, &kGelu, run);
    check_product<Scalar>({130, 70, 136, 16}, true, &kTanh, run);
}

}  // namespace

TEST_CASE("emulation: products on tensor cores are sums of products, edges, gaps and all", "[emulation][products]") {
    check_edges<Half>([](const auto& args) { run_tensor_product<64>(args); });
    check_product<Bfloat16>({65, 66, 72, 8}, true, &kGelu, [](const auto& args) { run_tensor_product<64>(args); });
    const auto large = [](const auto& args) { run_tensor_product<128>(args); };
    for (const int rows : {1, 127, 128, 129})
        for (const int columns : {8, 126, 130}) check_product<Half>({rows, columns, 72}, true, nullptr, large);
    check_product<Half>({200, 140, 328, 8}, true, &kGelu, large);
}

TEMPLATE_TEST_CASE("emulation: plain products are sums of products at any width", "[emulation][products]", float,
                   Half) {
    const auto plain = [](const auto& args) { run_plain_product(args); };
    for (const int rows : {1, 4, 63, 65, 128, 129})
        for (const int columns : {1, 5, 64, 127, 129})
            for (const int depth : {1, 15, 17}) check_product<TestType>({rows, columns, depth}, true, nullptr, plain);
    check_product<TestType>({70, 33, 100, 3}, false, &kGelu, plain);
    check_product<TestType>({33, 70, 40, 1}, true, &kTanh, plain);
}

TEST_CASE("emulation: products read and write nothing after their matrices", "[emulation][products]") {
    for (const auto& [rows, columns, depth] :
         std::vector<std::array<int, 3>>{{1, 8, 8}, {65, 8, 72}, {9, 66, 200}, {130, 72, 64}}) {
        BeforeGuardPage<Half> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(columns * depth)),
            c(static_cast<std::size_t>(rows * columns));
        const auto args = cuda::ProductArguments<Half>::whole(a.data(), b.data(), c.data(), rows, columns, depth);
        REQUIRE(cuda::fits_tensor_cores(args));
        run_tensor_product<64>(args);
        run_tensor_product<128>(args);
        run_plain_product(args);
        for (int n = 0; n < rows * columns; ++n) CHECK(cuda::to_float(c.data()[n]) == 0);
    }
}

TEMPLATE_TEST_CASE("emulation: bias and activation after a product are those within it", "[emulation][products]", float,
                   Half) {
    const auto bare_then_finished = [](const auto& args) {
        auto bare = args;
        bare.bias = nullptr;
        bare.activates = false;
        run_plain_product(bare);
        const EmulatedBackend backend;
        const cuda::FinishKernel<TestType, true> vectorised{args};
        const cuda::FinishKernel<TestType, false> single{args};
        if (vectorised.fits(args))
            backend.parallel_for(vectorised.elements(), vectorised);
        else
            backend.parallel_for(single.elements(), single);
    };
    check_product<TestType>({33, 40, 24, 8}, true, &kGelu, bare_then_finished, true);
    check_product<TestType>({33, 41, 24, 3}, true, nullptr, bare_then_finished, true);
    check_product<TestType>({5, 16, 24}, false, &kTanh, bare_then_finished, true);
}

TEST_CASE("emulation: rows that do not come in eights are not for tensor cores", "[emulation][products]") {
    const Guarded<Half> numbers(4096);
    Guarded<Half> c(4096);
    const auto whole = cuda::ProductArguments<Half>::whole(numbers.data(), numbers.data(), c.data(), 8, 8, 64);
    CHECK(cuda::fits_tensor_cores(whole));
    const auto refused = [&](auto change) {
        auto args = whole;
        change(args);
        return !cuda::fits_tensor_cores(args);
    };
    CHECK(refused([](auto& args) { args.depth = 60; }));
    CHECK(refused([](auto& args) { args.columns = 7; }));
    CHECK(refused([](auto& args) { args.a_row = 65; }));
    CHECK(refused([](auto& args) { args.b_row = 68; }));
    CHECK(refused([](auto& args) { args.c_row = 9; }));
    CHECK(refused([](auto& args) { args.a += 4; }));
    CHECK(refused([](auto& args) { args.b += 1; }));
    CHECK(refused([](auto& args) { args.c += 1; }));
    const cuda::ProductArguments<float> single =
        cuda::ProductArguments<float>::whole(nullptr, nullptr, nullptr, 8, 8, 64);
    CHECK_FALSE(cuda::fits_tensor_cores(single));
}

}  // namespace locus::test::test_cuda_products

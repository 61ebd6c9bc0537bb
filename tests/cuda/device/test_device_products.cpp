// Products on the device, by our kernels and by cuBLAS, against sums in float64.
#include <random>

#include "core/models/layers.h"
#include "core/products.h"
#include "cuda/encoder/cublas.h"
#include "cuda/encoder/products.h"
#include "tests/cuda/device/has_device.h"
#include "tests/cuda/guarded.h"
#include "tests/cuda/near.h"

namespace locus::test::test_device_products {

using cuda::Bfloat16;
using cuda::FusedPrecision;
using cuda::Half;
using cuda::ProductsBy;

namespace {

constexpr Activation kGelu = Activation::gelu;

template <class Scalar>
void check_on_device(FusedPrecision precision, ProductsBy by) {
    for (const auto& [rows, columns, depth] : std::vector<std::array<int, 3>>{
             {1, 1, 1}, {1, 8, 8}, {33, 70, 100}, {65, 66, 72}, {129, 257, 136}, {300, 513, 1025}, {2048, 2304, 768}})
        for (const Activation* activation : {static_cast<const Activation*>(nullptr), &kGelu}) {
            INFO(rows << " x " << columns << " x " << depth << (activation ? ", gelu" : ""));
            std::mt19937 random(9);
            const Rounded<Scalar> a(rows, depth, 1, random), b(columns, depth, 1, random);
            const Rounded<float> bias(1, columns, 1, random);
            const RowVector<double> added = bias.wide.row(0);
            Matrix<double> expected = times_transposed<double>(a.wide, b.wide);
            expected.rowwise() += added;
            Matrix<double> sizes = times_transposed<double>(a.wide.cwiseAbs(), b.wide.cwiseAbs());
            sizes.rowwise() += RowVector<double>(added.cwiseAbs());
            if (activation) expected = activate<double>(expected, *activation);
            const Matrix<float> found = cuda::product(a.wide.template cast<float>(), b.wide.template cast<float>(),
                                                      added.cast<float>(), activation, precision, by);
            Matrix<double> bounds(rows, columns);
            for (Index n = 0; n < bounds.size(); ++n)
                bounds.data()[n] = product_rounding<Scalar>(sizes.data()[n], depth, expected.data()[n]) +
                                   (by == ProductsBy::cublas ? rounded_between<Scalar>(sizes.data()[n]) : 0);
            check_within<double>(expected, found.cast<double>(), bounds);
        }
}

void check_all_on_device(ProductsBy by) {
    check_on_device<float>(FusedPrecision::f32, by);
    check_on_device<Half>(FusedPrecision::f16, by);
    check_on_device<Bfloat16>(FusedPrecision::bf16, by);
}

}  // namespace

TEST_CASE("cuda: own products are sums of products", "[cuda][products]") {
    if (!has_device()) return;
    check_all_on_device(ProductsBy::own);
}

TEST_CASE("cuda: products by cuBLAS are sums of products", "[cuda][products]") {
    if (!has_device()) return;
    try {
        cuda::Products products(ProductsBy::cublas);
    } catch (const Error& error) {
        std::cout << "skipped: " << error.what() << std::endl;
        return;
    }
    check_all_on_device(ProductsBy::cublas);
}

TEST_CASE("emulation: cuBLAS that is not there, and products that do not fit, are refused in one sentence",
          "[emulation][products]") {
    const auto refusal = [](auto work) {
        try {
            work();
        } catch (const Error& error) {
            return std::to_string(error.exit_status()) + " " + error.what();
        }
        return std::string("computed");
    };
    const std::string missing = refusal([] { cuda::Cublas({"libnosuch.so.1", "libnosuch.so.2"}); });
    const Matrix<float> a(2, 3), b(4, 5), fits(4, 3);
    CHECK(refusal([] { cuda::Cublas({"libm.so.6"}); }) ==
          "4 CUDA: cuBLAS has no function cublasCreate_v2, expected one of version 12 or 13");
    CHECK(missing.starts_with("4 CUDA: cuBLAS was asked for, but libnosuch.so.1 or libnosuch.so.2 cannot be loaded ("));
    CHECK(refusal([&] { cuda::product(a, b, {}, nullptr, FusedPrecision::f32, ProductsBy::own); }) ==
          "2 cuda::product: widths 3 and 5 differ, expected the same");
    CHECK(refusal([&] {
              cuda::product(a, fits, RowVector<float>::Zero(3), nullptr, FusedPrecision::f32, ProductsBy::own);
          }) == "2 cuda::product: a bias of 3, expected 4 or none");
    if (cuda::available()) return;
    for (const ProductsBy by : {ProductsBy::own, ProductsBy::cublas})
        CHECK(refusal([&] { cuda::product(a, fits, {}, nullptr, FusedPrecision::f16, by); }).starts_with("4 CUDA: "));
}

}  // namespace locus::test::test_device_products

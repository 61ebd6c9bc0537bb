// The fast parts of a training step beside the readable functions they stand for.
#include <catch2/catch.hpp>
#include <random>

#include "core/attention/disentangled.h"
#include "core/fast/disentangled.h"
#include "core/fast/matrix_products.h"
#include "core/models/layers.h"
#include "core/products.h"
#include "core/training/random.h"
#include "cuda/fused/dropout.h"
#include "tests/max_abs.h"

namespace locus::test::test_training_kernels {

namespace {

template <class Scalar>
Matrix<Scalar> random_matrix(Index rows, Index cols, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    Matrix<Scalar> values(rows, cols);
    for (Index n = 0; n < values.size(); ++n) values.data()[n] = Scalar(normal(generator));
    return values;
}

template <class Scalar>
bool within(const Matrix<Scalar>& found, const Matrix<Scalar>& expected, double tolerance) {
    if (found.rows() != expected.rows() || found.cols() != expected.cols()) return false;
    if (found.size() == 0) return true;
    return max_abs(found - expected) <= tolerance;
}

/// Every set of kernels that this processor can run.
template <class Scalar>
std::vector<const SimdKernels<Scalar>*> all_lanes() {
    std::vector<const SimdKernels<Scalar>*> all = {&portable_simd_kernels<Scalar>()};
    for (const SimdKernels<Scalar>* wide : {avx512_simd_kernels<Scalar>(), avx2_simd_kernels<Scalar>()})
        if (wide) all.push_back(wide);
    return all;
}

/// The columns h d ... of a wider matrix.
template <class Scalar>
HeadRows<const Scalar> columns(const Matrix<Scalar>& wide, Index first, Index width) {
    return {wide.data() + first, wide.rows(), width, wide.cols()};
}
template <class Scalar>
HeadRows<Scalar> columns_to_write(Matrix<Scalar>& wide, Index first, Index width) {
    return {wide.data() + first, wide.rows(), width, wide.cols()};
}

}  // namespace

TEMPLATE_TEST_CASE("training products: blocks on threads are Eigen's products", "[training]", float, double) {
    using Scalar = TestType;
    // Sums of up to 130 products of normal numbers: |sum| stays below 100, so 130 roundings are below this.
    const double tolerance = 130 * 100 * std::numeric_limits<Scalar>::epsilon();
    ProductBuffers<Scalar> buffers;
    for (const SimdKernels<Scalar>* kernels : all_lanes<Scalar>())
        for (const int threads : {1, 3}) {
            ThreadPool pool(threads);
            for (const auto& [n, m, p] :
                 {std::tuple<Index, Index, Index>{1, 1, 1}, {4, 0, 3}, {5, 3, 70}, {200, 130, 64}, {97, 65, 129}}) {
                INFO(kernels->name << " " << threads << " threads, " << n << " x " << m << " x " << p);
                const Matrix<Scalar> a = random_matrix<Scalar>(n, m, 1), b = random_matrix<Scalar>(m, p, 2);
                const Matrix<Scalar> a_transposed = a.transpose(), b_transposed = b.transpose();
                const Matrix<Scalar> before = random_matrix<Scalar>(n, p, 3), product = times<Scalar>(a, b);
                Matrix<Scalar> c = before;
                multiply_blocks<Scalar>(Product::ab, a, b, true, c, buffers, pool, *kernels);
                CHECK(within<Scalar>(c, before + product, tolerance));
                multiply_blocks<Scalar>(Product::abt, a, b_transposed, false, c, buffers, pool, *kernels);
                CHECK(within<Scalar>(c, product, tolerance));
                multiply_blocks<Scalar>(Product::atb, a_transposed, b, true, c, buffers, pool, *kernels);
                CHECK(within<Scalar>(c, 2 * product, tolerance));
            }
            Matrix<Scalar> c(2, 3);
            CHECK_THROWS_AS(multiply_blocks<Scalar>(Product::ab, Matrix<Scalar>(2, 4), Matrix<Scalar>(5, 3), false, c,
                                                    buffers, pool, *kernels),
                            Error);
        }
}

TEMPLATE_TEST_CASE("training kernels: gelu's derivative is the readable one", "[training]", float, double) {
    using Scalar = TestType;
    Matrix<Scalar> x(1, 203);
    for (Index n = 0; n < x.size(); ++n) x(0, n) = Scalar(-12 + 0.1202 * static_cast<double>(n));
    const Matrix<Scalar> d_y = random_matrix<Scalar>(1, 203, 4);
    const Matrix<Scalar> expected = activate_backward<Scalar>(x, Activation::gelu, d_y);
    for (const SimdKernels<Scalar>* kernels : all_lanes<Scalar>()) {
        Matrix<Scalar> found = d_y;
        kernels->gelu_backward(x.data(), x.size(), found.data());
        // erf of the wide registers is within 4e-7 in single precision (core/fast/simd_kernels_body.h), and so is the
        // exponential beside it, of which x times the density is at most a quarter; |d_y| stays below 4.
        CHECK(within<Scalar>(found, expected, sizeof(Scalar) == 4 ? 4e-6 : 1e-14));
    }
}

TEMPLATE_TEST_CASE("dropout: the wide registers draw Philox's numbers, place by place", "[training]", float, double) {
    using Scalar = TestType;
    const std::uint32_t key = 0x12345678u, threshold = dropout_threshold(0.3f);
    for (const SimdKernels<Scalar>* kernels : all_lanes<Scalar>())
        for (const Index count : {Index{1}, Index{2}, Index{31}, Index{64}, Index{100}}) {
            Matrix<Scalar> row = Matrix<Scalar>::Ones(1, count);
            kernels->drop(row.data(), count, key, 17, threshold, Scalar(1 / 0.7));
            for (Index j = 0; j < count; ++j) {
                const TwoNumbers two = philox({17, static_cast<std::uint32_t>(j / 2 * 2)}, key);
                const Scalar expected = (j % 2 ? two.second : two.first) < threshold ? Scalar(0) : Scalar(1 / 0.7);
                CHECK(row(0, j) == expected);
            }
        }
}

TEST_CASE("dropout: the processor drops what the kernels of cuda/ drop", "[training]") {
    for (const std::uint64_t seed : {std::uint64_t{5}, std::uint64_t{0x9876543210fedcba}})
        for (const int part : {0, 1, 29}) {
            Matrix<float> probs = Matrix<float>::Ones(40, 53);
            drop<float>(seed, part, 0.15f, probs);
            const std::uint32_t key = dropout_key(seed, static_cast<std::uint32_t>(part));
            for (int i = 0; i < 40; ++i)
                for (int j = 0; j < 53; ++j) {
                    const float expected = cuda::dropout_factor(key, 0.15f, i, j);
                    REQUIRE((probs(i, j) == 0) == (expected == 0));
                    REQUIRE(std::abs(probs(i, j) - expected) <= 1e-6f);
                }
        }
}

TEST_CASE("dropout: threads change nothing, the share is kept, seeds and parts differ", "[training]") {
    ThreadPool one(1), four(4);
    Matrix<float> a = Matrix<float>::Ones(300, 70), b = a, other = a;
    drop<float>(77, 0.25, a, one);
    drop<float>(77, 0.25, b, four);
    drop<float>(78, 0.25, other, one);
    CHECK(a == b);
    CHECK(a != other);
    const double dropped = (a.array() == 0).cast<double>().mean();
    CHECK(std::abs(dropped - 0.25) <= 5 * std::sqrt(0.25 * 0.75 / 21000));
    Matrix<float> part = Matrix<float>::Ones(300, 70), same = part;
    drop<float>(77, 3, 0.25, part);
    drop<float>(77, 0, 0.25, same);
    CHECK(part != a);
    CHECK(same == a);
    CHECK_THROWS_AS(drop<float>(1, 0, 1.0, part), Error);
}

TEMPLATE_TEST_CASE("training head: probabilities, context and gradients are the readable ones", "[training]", float,
                   double) {
    using Scalar = TestType;
    // A score is a sum of 24 products of normal numbers, which stays below 40, over sqrt(24): 200 roundings of it are
    // the relative error of a probability.  Gradients add up 70 of them times numbers below 4, signs mixed: ten times.
    const double tolerance = 2000 * std::numeric_limits<Scalar>::epsilon();
    const Index d = 8, first = 5, wide = 20;
    for (const Index length : {1, 7, 33, 64, 70})
        for (const int terms : {0, 1, 2, 3})
            for (const bool masked : {false, true}) {
                INFO("T " << length << ", terms " << terms << ", masked " << masked);
                const RelativeBuckets buckets =
                    RelativeBuckets::logarithmic(length, length, 12, 40, OffsetClamp::official);
                const auto q = random_matrix<Scalar>(length, wide, 1), k = random_matrix<Scalar>(length, wide, 2),
                           v = random_matrix<Scalar>(length, wide, 3), d_o = random_matrix<Scalar>(length, wide, 4);
                const Matrix<Scalar> k_r = terms & 1 ? random_matrix<Scalar>(24, d, 5) : Matrix<Scalar>();
                const Matrix<Scalar> q_r = terms & 2 ? random_matrix<Scalar>(24, d, 6) : Matrix<Scalar>();
                const Scalar divisor = score_divisor<Scalar>(1 + (terms & 1) + (terms >> 1), d);
                Mask mask;
                if (masked) {
                    mask = Mask::Ones(length, length);
                    mask.col(length - 1).setZero();
                    mask.row(0).setZero();
                }
                Matrix<Scalar> scores = times_transposed<Scalar>(q.middleCols(first, d), k.middleCols(first, d));
                if (terms & 1) scores += content_to_position<Scalar>(q.middleCols(first, d), k_r, buckets);
                if (terms & 2) scores += position_to_content<Scalar>(k.middleCols(first, d), q_r, buckets);
                const Matrix<Scalar> expected =
                    masked_softmax<Scalar>(Matrix<Scalar>(scores / divisor), mask, MaskedRow::zero);

                const HeadTables<Scalar> tables = head_tables<Scalar>(k_r, q_r);
                HeadBuffers<Scalar> buffers;
                Matrix<Scalar> probs;
                head_probabilities<Scalar>(columns(q, first, d), columns(k, first, d), tables, buckets,
                                           masked ? &mask : nullptr, divisor, buffers, probs);
                CHECK(within<Scalar>(probs, expected, tolerance));
                Matrix<Scalar> context = Matrix<Scalar>::Zero(length, wide);
                head_context<Scalar>(probs, columns(v, first, d), columns_to_write(context, first, d));
                CHECK(within<Scalar>(context.middleCols(first, d), times<Scalar>(expected, v.middleCols(first, d)),
                                     tolerance));
                CHECK(context.leftCols(first).isZero(0));

                DisentangledHead<Scalar> head;
                head.q = q.middleCols(first, d);
                head.k = k.middleCols(first, d);
                head.v = v.middleCols(first, d);
                head.k_r = k_r;
                head.q_r = q_r;
                head.probs = expected;
                head.keep = Matrix<Scalar>::Ones(length, length);
                drop<Scalar>(9, 0, 0.2, head.keep);
                head.divisor = divisor;
                const auto grad = disentangled_backward<Scalar>(head, buckets, d_o.middleCols(first, d));
                const Matrix<Scalar> dropped = expected.cwiseProduct(head.keep);
                Matrix<Scalar> d_q(length, wide), d_k(length, wide), d_v(length, wide), d_scores;
                Matrix<Scalar> d_k_r = Matrix<Scalar>::Zero(k_r.rows(), k_r.size() ? d : 0),
                               d_q_r = Matrix<Scalar>::Zero(q_r.rows(), q_r.size() ? d : 0);
                head_backward<Scalar>({columns(q, first, d), columns(k, first, d), columns(v, first, d),
                                       columns(d_o, first, d), expected, &dropped, buckets, divisor},
                                      tables, buffers, columns_to_write(d_q, first, d), columns_to_write(d_k, first, d),
                                      columns_to_write(d_v, first, d), columns_to_write(d_k_r, 0, d),
                                      columns_to_write(d_q_r, 0, d), d_scores);
                CHECK(within<Scalar>(d_q.middleCols(first, d), grad.q, tolerance));
                CHECK(within<Scalar>(d_k.middleCols(first, d), grad.k, tolerance));
                CHECK(within<Scalar>(d_v.middleCols(first, d), grad.v, tolerance));
                CHECK(within<Scalar>(d_scores, grad.scores, tolerance));
                if (terms & 1) CHECK(within<Scalar>(d_k_r, grad.k_r, tolerance));
                if (terms & 2) CHECK(within<Scalar>(d_q_r, grad.q_r, tolerance));
            }
}

}  // namespace locus::test::test_training_kernels

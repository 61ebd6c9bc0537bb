// The fast encoder against the reference pass, and its dense layers against the plain ones.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/models/fast_encoder.h"
#include "tests/naive_reference.h"
#include "tests/random_model.h"

namespace locus::test::test_encoder {

namespace {

struct Variant {
    std::string name;
    DebertaConfig config;
    DebertaOptions options = DebertaOptions::of(Dialect::reference);
    bool masked = false;
};

std::vector<Variant> variants() {
    std::vector<Variant> all = {{"plain", small_config()},
                                {"masked", small_config()},
                                {"log buckets", small_config()},
                                {"convolution", small_config()},
                                {"version 1", small_config()},
                                {"c2p alone", small_config()},
                                {"p2c alone", small_config()},
                                {"shared keys", small_config()},
                                {"absolute positions", small_config()},
                                {"hf", small_config(), DebertaOptions::of(Dialect::hf)},
                                {"paper", small_config(), DebertaOptions::of(Dialect::paper)}};
    for (Variant& one : all) {
        one.masked = one.name == "masked" || one.name == "convolution" || one.name == "hf";
        one.config.max_position_embeddings = 128;
        if (one.name == "log buckets") one.config.position_buckets = 8, one.config.max_relative_positions = 40;
        if (one.name == "convolution") one.config.conv_kernel_size = 3;
        if (one.name == "version 1") one.config.version = 1, one.config.norm_rel_ebd = false;
        if (one.name == "c2p alone") one.config.terms.p2c = false;
        if (one.name == "p2c alone") one.config.terms.c2p = false;
        one.config.share_att_key = one.name == "shared keys";
        one.config.position_biased_input = one.name == "absolute positions";
    }
    return all;
}

ModelInput sample_input(Index tokens, bool masked) {
    std::vector<std::int64_t> ids, mask;
    for (Index n = 0; n < 2 * tokens; ++n) {
        ids.push_back((n * n + 3 * n) % 37);
        mask.push_back(n < tokens || n % tokens < tokens - 5);
    }
    ModelInput input;
    input.tokens = IndexTensor({2, tokens}, std::move(ids));
    if (masked) input.mask = IndexTensor({2, tokens}, std::move(mask));
    return input;
}

}  // namespace

TEMPLATE_TEST_CASE("deberta blocks: the last rows are the reference pass's", "[deberta][blocks]", float, double) {
    ThreadPool pool(2);
    for (const Variant& one : variants())
        for (const Index tokens : {7, 70}) {
            const auto weights = random_weights(one.config, 3);
            const ModelInput input = sample_input(tokens, one.masked);
            const Trace trace =
                Deberta<double>(one.config, weights).forward(input, one.options, StageFilter("layer.1.output"));
            const Tensor<double>& expected = trace.at("layer.1.output").as<double>();
            FastEncoder<TestType> blocks(one.config, weights);
            const Tensor<TestType> found = blocks.last_output(input, one.options, pool);
            // Roundings along the longest way through two layers, each sum as long as it is wide (4 D, 4 d, T, F and 40
            // around them), on numbers up to 10; weights of 0.5 enlarge an error by less than 10 per layer.
            const auto& c = one.config;
            const auto roundings = 2.0 * static_cast<double>(4 * c.hidden_size + 4 * c.attention_head_size + tokens +
                                                             c.intermediate_size + 40);
            const double tolerance = roundings * 10 * 10 * double{std::numeric_limits<TestType>::epsilon()};
            INFO(one.name << ", " << tokens << " tokens");
            CHECK(distance(found.rows(), expected.rows()) <= tolerance);
            CHECK(blocks.last_output(input, one.options, pool).values() == found.values());
        }
}

TEST_CASE("deberta blocks: another length and another dialect make new tables", "[deberta][blocks]") {
    const DebertaConfig config = small_config();
    const auto weights = random_weights(config, 5);
    ThreadPool pool(1);
    FastEncoder<double> kept(config, weights);
    for (const Index tokens : {9, 12, 9})
        for (const Dialect dialect : {Dialect::official, Dialect::paper}) {
            const ModelInput input = sample_input(tokens, false);
            const DebertaOptions options = DebertaOptions::of(dialect);
            FastEncoder<double> fresh(config, weights);
            CHECK(kept.last_output(input, options, pool).values() == fresh.last_output(input, options, pool).values());
        }
}

TEST_CASE("deberta blocks: the same bits for every number of threads", "[deberta][blocks][law]") {
    const DebertaConfig config = small_config();
    const auto weights = random_weights(config, 6);
    const ModelInput input = sample_input(90, true);
    ThreadPool alone(1), three(3);
    FastEncoder<float> blocks(config, weights);
    const DebertaOptions options;
    const auto bits = blocks.last_output(input, options, alone).values();
    CHECK(blocks.last_output(input, options, three).values() == bits);
}

TEST_CASE("deberta blocks: what the fast path does not run is refused", "[deberta][blocks]") {
    DebertaConfig plain = small_config(), talking = small_config();
    plain.terms = {false, false, false};
    talking.version = 1;
    talking.talking_head = true;
    for (const DebertaConfig& config : {plain, talking})
        CHECK_THROWS_AS(FastEncoder<float>(config, random_weights(config, 7)), Error);
    FastEncoder<float> blocks(small_config(), random_weights(small_config(), 7));
    ThreadPool pool(1);
    CHECK_THROWS_AS(blocks.last_output(tokens_input({1, 99}), DebertaOptions(), pool), Error);
}

TEMPLATE_TEST_CASE("packed dense: every cell is the plain layer's", "[dense][blocks]", float, double) {
    const double eps = double{std::numeric_limits<TestType>::epsilon()};
    for (const Index rows : {1, 5, 64, 300})
        for (const Index in : {1, 63, 200})
            for (const Index out : {1, 64, 100}) {
                const Matrix<TestType> x = random_rows<TestType>(rows, in, 1);
                const Dense<TestType> first{random_rows<TestType>(out, in, 2), random_rows<TestType>(1, out, 3)},
                    second{random_rows<TestType>(7, in, 4), {}};
                Matrix<TestType> y;
                for (const int threads : {1, 3}) {
                    ThreadPool pool(threads);
                    dense_blocks<TestType>(x, pack_dense<TestType>({&first, &second}), nullptr, y, pool);
                    REQUIRE((y.rows() == rows && y.cols() == out + 7));
                    Index wrong = 0;
                    for (Index n = 0; n < rows; ++n)
                        for (Index o = 0; o < out + 7; ++o) {
                            const bool other = o >= out;
                            const auto& layer = other ? second : first;
                            double sum = other ? 0 : double{layer.bias(o)}, size = std::abs(sum);
                            for (Index c = 0; c < in; ++c) {
                                const double product = double{x(n, c)} * double{layer.weight(other ? o - out : o, c)};
                                sum += product, size += std::abs(product);
                            }
                            if (!(std::abs(double{y(n, o)} - sum) <= 2 * static_cast<double>(in + 1) * eps * size))
                                ++wrong;
                        }
                    CHECK(wrong == 0);
                }
            }
    ThreadPool pool(1);
    Matrix<TestType> y;
    const Dense<TestType> layer{random_rows<TestType>(3, 4, 1), {}};
    CHECK_THROWS_AS(
        dense_blocks<TestType>(random_rows<TestType>(2, 5, 1), pack_dense<TestType>({&layer}), nullptr, y, pool),
        Error);
}

TEMPLATE_TEST_CASE("packed dense: gelu within 4e-7 of x, NaN and infinity as they are", "[dense][blocks]", float,
                   double) {
    for (const SimdKernels<TestType>* kernels : {&portable_simd_kernels<TestType>(), &best_simd_kernels<TestType>()}) {
        std::vector<TestType> x;
        for (int n = -80000; n <= 80000; ++n) x.push_back(TestType(n) / 8000);
        std::vector<TestType> y = x;
        kernels->gelu(y.data(), static_cast<Index>(y.size()));
        std::size_t wrong = 0;
        for (std::size_t n = 0; n < x.size(); ++n) {
            const double v = double{x[n]}, expected = v * (1 + std::erf(v / std::sqrt(2.0))) / 2;
            if (!(std::abs(double{y[n]} - expected) <= (sizeof(TestType) == 4 ? 4e-7 : 4e-16) * std::abs(v))) ++wrong;
        }
        CHECK(wrong == 0);
        std::vector<TestType> edge(32, std::numeric_limits<TestType>::quiet_NaN());
        edge[1] = std::numeric_limits<TestType>::infinity();
        kernels->gelu(edge.data(), 32);
        CHECK(std::isnan(edge[0]));
        CHECK(edge[1] == std::numeric_limits<TestType>::infinity());
    }
}

TEMPLATE_TEST_CASE("kernels: e^x within two units of the last place, 0 far below, NaN kept", "[kernels][blocks]", float,
                   double) {
    const double eps = double{std::numeric_limits<TestType>::epsilon()};
    for (const SimdKernels<TestType>* kernels : {&portable_simd_kernels<TestType>(), &best_simd_kernels<TestType>()}) {
        std::size_t wrong = 0;
        for (int n = 0; n < 200000; ++n) {
            TestType scores[64] = {0, TestType(-86.9 * n / 200000), -1e4F};
            kernels->exponentials(scores, 3, nullptr, 1);
            const double expected = std::exp(double{TestType(-86.9 * n / 200000)});
            if (!(std::abs(double{scores[1]} - expected) <= 2 * eps * expected) || scores[0] != 1 || scores[2] != 0)
                ++wrong;
        }
        CHECK(wrong == 0);
        TestType scores[64] = {0, std::numeric_limits<TestType>::quiet_NaN(), 1};
        CHECK(std::isnan(kernels->exponentials(scores, 3, nullptr, 1)));
        TestType hidden[64] = {0, std::numeric_limits<TestType>::quiet_NaN(), 1};
        const std::uint8_t mask[] = {1, 0, 1};
        CHECK(kernels->exponentials(hidden, 3, mask, 1) == 1 + TestType(std::exp(-1.0)));
        CHECK(hidden[1] == 0);
    }
}

}  // namespace locus::test::test_encoder

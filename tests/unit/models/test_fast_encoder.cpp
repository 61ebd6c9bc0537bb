// The fast path against the reference pass: whole layers, when it is taken, and its dense layers and kernels alone.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <thread>

#include "core/models/fast_encoder.h"
#include "tests/naive_reference.h"
#include "tests/random_model.h"

namespace locus::test::test_fast_encoder {

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

/// Roundings along the longest way through two layers, each sum as long as it is wide (4 D, 4 d, T, F and 40 around
/// them), on numbers up to 10; weights of 0.5 enlarge an error by less than 10 per layer.
template <class Scalar>
double tolerance_of(const DebertaConfig& c, Index tokens) {
    const auto roundings =
        2.0 * static_cast<double>(4 * c.hidden_size + 4 * c.attention_head_size + tokens + c.intermediate_size + 40);
    return roundings * 10 * 10 * double{std::numeric_limits<Scalar>::epsilon()};
}

/// The stages of a model that lie around its layers, for a pass that may be fast.
template <class Scalar>
StageFilter around_layers(const Deberta<Scalar>& model, const ModelInput& input, const DebertaOptions& options) {
    std::vector<std::string> names;
    for (const std::string& name : model.stage_names(input, options)) {
        const bool inside = name.starts_with("layer.") || name.starts_with("emd.");
        if (inside && !name.ends_with(".output") && name != "emd.query.0") continue;
        names.push_back(name);
    }
    return StageFilter::of(names);
}

template <class Scalar>
Deberta<Scalar> open_fast(const DebertaConfig& config, const std::shared_ptr<MemoryWeights>& weights) {
    return Deberta<Scalar>(config, weights, cpu_operations<Scalar>(), ForwardPath::fast);
}

/// Every stage of `found` has the bits that `expected` has under its name.
template <class Scalar>
bool same_bits(const Trace& found, const Trace& expected) {
    for (const Stage& stage : found.stages()) {
        if (std::holds_alternative<IndexTensor>(stage.values)) continue;
        if (stage.as<Scalar>().values() != expected.at(stage.name).as<Scalar>().values()) return false;
    }
    return !found.stages().empty();
}

}  // namespace

TEMPLATE_TEST_CASE("fast path: outputs of layers, decoder and head are the reference pass's", "[deberta][fast]", float,
                   double) {
    const Index tokens = 9;
    for (Variant one : variants())
        for (const MaskDecoder decoder : {MaskDecoder::none, MaskDecoder::official, MaskDecoder::pre_norm}) {
            const auto weights = random_weights(one.config, 4);
            ModelInput input = sample_input(tokens, one.masked);
            input.mask_positions = IndexTensor({2, 2}, {0, 3, 1, 2});
            one.options.decoder = decoder;
            INFO(one.name << ", decoder " << static_cast<int>(decoder));
            const Deberta<TestType> model = open_fast<TestType>(one.config, weights);
            // Hidden queries and keys as in the kit: a mask of pairs instead of tokens.
            for (const bool pairs : {false, true}) {
                if (pairs) {
                    input.mask = IndexTensor({2, tokens, tokens});
                    for (Index n = 0; n < input.mask.size(); ++n) input.mask[n] = n % 7 != 3;
                }
                const StageFilter around = around_layers(model, input, one.options);
                REQUIRE(model.takes_fast_path(input, one.options, around));
                const Trace expected = Deberta<double>(one.config, weights).forward(input, one.options, around);
                const Trace found = model.forward(input, one.options, around);
                REQUIRE(found.names() == expected.names());
                for (const Stage& stage : found.stages()) {
                    if (std::holds_alternative<IndexTensor>(stage.values)) continue;
                    INFO(stage.name);
                    // The decoder runs two more layers, each of which enlarges an error by less than 10.
                    CHECK(distance(stage.as<TestType>().rows(), expected.at(stage.name).as<double>().rows()) <=
                          100 * tolerance_of<TestType>(one.config, tokens));
                }
            }
        }
}

TEST_CASE("fast path: a stage inside a layer is the reference's, and so is all beside it", "[deberta][fast][law]") {
    DebertaConfig config = small_config();
    config.max_position_embeddings = 128;
    const auto weights = random_weights(config, 8);
    const ModelInput input = sample_input(70, true);
    const DebertaOptions options;
    const Deberta<float> model = open_fast<float>(config, weights), reference(config, weights);
    const Trace all = reference.forward(input, options);
    for (const char* wanted : {"layer.1.probs", "layer.0.c2c,layer.1.output", "emd.0.q,mlm.logits", "layer.1.ffn"}) {
        INFO(wanted);
        CHECK_FALSE(model.takes_fast_path(input, options, StageFilter(wanted)));
        CHECK(same_bits<float>(model.forward(input, options, StageFilter(wanted)), all));
    }
    CHECK_FALSE(model.takes_fast_path(input, options, StageFilter()));
    CHECK(same_bits<float>(model.forward(input, options), all));
    // Where it is taken the last bits may differ; were they all the same here, this test would prove nothing.
    const StageFilter around = around_layers(model, input, options);
    CHECK(model.takes_fast_path(input, options, around));
    CHECK_FALSE(same_bits<float>(model.forward(input, options, around), all));
    CHECK_FALSE(reference.takes_fast_path(input, options, around));
}

TEST_CASE("fast path: a model without one runs by the reference", "[deberta][fast]") {
    DebertaConfig plain = small_config(), talking = small_config(), absolute = small_config();
    plain.terms = {false, false, false};
    talking.version = 1;
    talking.talking_head = true;
    absolute.relative_attention = false;
    absolute.terms = {false, false, false};
    const ModelInput input = sample_input(9, true);
    for (const DebertaConfig& config : {plain, talking, absolute}) {
        const auto weights = random_weights(config, 7);
        const Deberta<float> model = open_fast<float>(config, weights);
        const StageFilter around = around_layers(model, input, {});
        CHECK_FALSE(model.takes_fast_path(input, {}, around));
        CHECK(same_bits<float>(model.forward(input, {}, around),
                               Deberta<float>(config, weights).forward(input, {}, around)));
    }
}

TEST_CASE("fast path: bad input is refused in the reference's words, and a cancelled pass ends", "[deberta][fast]") {
    const auto weights = random_weights(small_config(), 7);
    const Deberta<float> fast = open_fast<float>(small_config(), weights), reference(small_config(), weights);
    const auto sentence = [](const Deberta<float>& model, const ModelInput& input, const char* wanted) {
        try {
            model.forward(input, {}, StageFilter(wanted));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    for (const auto& [input, wanted] : {std::pair(tokens_input({1, 99}), "layer.1.output"),
                                        {tokens_input({1, 2}, {1, 2}), "layer.1.output"},
                                        {tokens_input(std::vector<std::int64_t>(17, 3)), "mlm.logits"},
                                        {tokens_input({1, 2}), "layer.7.output"}}) {
        CHECK_FALSE(sentence(fast, input, wanted).empty());
        CHECK(sentence(fast, input, wanted) == sentence(reference, input, wanted));
    }
    int asked = 0;
    CHECK_THROWS_AS(fast.forward(tokens_input({1, 2}), {}, StageFilter("layer.1.output"), [&] { return ++asked > 1; }),
                    Cancelled);
    CHECK(fast.forward(tokens_input({1, 2}), {}, StageFilter("layer.1.output")).stages().size() == 1);
}

TEST_CASE("fast path: two callers at once get what each gets alone", "[deberta][fast][law]") {
    const DebertaConfig config = small_config();
    const Deberta<float> model = open_fast<float>(config, random_weights(config, 9));
    const auto bits = [&](Index tokens) {
        return model.forward(sample_input(tokens, true), {}, StageFilter("layer.1.output"))
            .at("layer.1.output")
            .as<float>()
            .values();
    };
    const auto short_alone = bits(5), long_alone = bits(12);
    for (int round = 0; round < 20; ++round) {
        decltype(bits(1)) found_short, found_long;
        std::thread other([&] { found_short = bits(5); });
        found_long = bits(12);
        other.join();
        REQUIRE(found_short == short_alone);
        REQUIRE(found_long == long_alone);
    }
}

TEST_CASE("overview of heads: every head once, with the stages of the reference", "[deberta][fast]") {
    for (const Variant& one : variants())
        for (const ForwardPath path : {ForwardPath::fast, ForwardPath::reference}) {
            const auto weights = random_weights(one.config, 3);
            const ModelInput input = sample_input(11, one.masked);
            const Trace all = Deberta<double>(one.config, weights).forward(input, one.options);
            const Deberta<float> model(one.config, weights, cpu_operations<float>(), path);
            const Index heads = one.config.num_attention_heads;
            std::mutex guard;
            std::set<std::tuple<Index, Index, Index>> seen;
            double largest = 0;
            Index last_layer = 0;
            bool ordered = true;
            model.visit_heads(input, one.options, [&](const HeadOverview<float>& head) {
                const std::lock_guard lock(guard);
                ordered =
                    ordered && seen.insert({head.layer, head.sample, head.head}).second && head.layer >= last_layer;
                last_layer = head.layer;
                const auto part = [&](const char* stem, const Matrix<float>& found) {
                    const Stage* stage = all.find("layer." + std::to_string(head.layer) + stem);
                    if (!stage) return found.size() == 0;
                    const auto expected = stage->as<double>().matrix(head.sample * heads + head.head);
                    const double far = distance(found, expected);
                    if (!(far <= largest)) largest = far;  // NaN stays
                    return true;
                };
                ordered = ordered && part(".c2c", head.c2c) && part(".c2p", head.c2p) && part(".p2c", head.p2c) &&
                          part(".probs", head.probs);
            });
            INFO(one.name);
            CHECK(ordered);
            CHECK(static_cast<Index>(seen.size()) == 2 * 2 * heads);
            CHECK(largest <= 10 * tolerance_of<float>(one.config, 11));  // a term sums d products of such numbers
        }
    const Deberta<float> model = open_fast<float>(small_config(), random_weights(small_config(), 3));
    CHECK_THROWS_AS(model.visit_heads(
                        sample_input(5, false), {}, [](const auto&) {}, [] { return true; }),
                    Cancelled);
    ModelInput flat;
    flat.tokens = IndexTensor({5});
    CHECK(
        refusal([&] { model.visit_heads(flat, {}, [](const auto&) {}); }, Fault::usage).find("tokens has shape [5]") !=
        std::string::npos);
}

TEMPLATE_TEST_CASE("fast encoder: the last rows are the reference pass's", "[deberta][fast]", float, double) {
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
            const double tolerance = tolerance_of<TestType>(one.config, tokens);
            INFO(one.name << ", " << tokens << " tokens");
            CHECK(distance(found.rows(), expected.rows()) <= tolerance);
            CHECK(blocks.last_output(input, one.options, pool).values() == found.values());
        }
}

TEMPLATE_TEST_CASE("fast encoder: texts of unequal lengths pass together with the bits of each alone",
                   "[deberta][fast][law]", float, double) {
    for (const Variant& one : variants()) {
        const auto weights = random_weights(one.config, 3);
        const Deberta<TestType> together(one.config, weights, cpu_operations<TestType>(), ForwardPath::fast),
            alone(one.config, weights, cpu_operations<TestType>(), ForwardPath::fast);
        std::vector<ModelInput> texts;
        for (const Index tokens : {70, 1, 13, 64, 90}) {
            texts.push_back(sample_input(tokens, one.masked && tokens > 10));
            texts.back().mask_positions = IndexTensor({1, 2}, {0, tokens - 1});
        }
        const StageFilter wanted("layer.*.output,mlm.logits_at_positions");
        const std::vector<Trace> traces = together.forward_texts(texts, one.options, wanted);
        INFO(one.name);
        REQUIRE(traces.size() == texts.size());
        for (std::size_t n = 0; n < texts.size(); ++n) {
            REQUIRE(together.takes_fast_path(texts[n], one.options, wanted));
            const Trace expected = alone.forward(texts[n], one.options, wanted);
            REQUIRE(traces[n].names() == expected.names());
            for (const Stage& stage : expected.stages())
                CHECK(traces[n].at(stage.name).template as<TestType>().values() ==
                      stage.template as<TestType>().values());
        }
    }
}

TEST_CASE("fast encoder: more rows than pass the dense layers at once have the bits of each text alone",
          "[deberta][fast][law]") {
    const auto weights = random_weights(small_config(), 3);
    const Deberta<float> model = open_fast<float>(small_config(), weights);
    std::vector<ModelInput> texts;
    for (const Index tokens : {600, 424, 1, 700, 350}) texts.push_back(sample_input(tokens, false));  // 2075 rows
    const StageFilter wanted("layer.*.output");
    const std::vector<Trace> traces = model.forward_texts(texts, {}, wanted);
    for (std::size_t n = 0; n < texts.size(); ++n) {
        const Trace expected = model.forward(texts[n], {}, wanted);
        REQUIRE(traces[n].names() == expected.names());
        for (const Stage& stage : expected.stages())
            CHECK(traces[n].at(stage.name).as<float>().values() == stage.as<float>().values());
    }
}

TEST_CASE("fast encoder: mask decoder and classes of several texts are those of each", "[deberta][fast][law]") {
    const auto weights = random_weights(small_config(), 3);
    add_classifier(*weights, small_config().hidden_size);
    const Deberta<float> model = open_fast<float>(small_config(), weights);
    std::vector<ModelInput> texts;
    for (const Index tokens : {16, 5, 9}) {
        texts.push_back(sample_input(tokens, false));
        texts.back().mask_positions = IndexTensor({1, 2}, {0, tokens / 2});
    }
    REQUIRE(model.has_decoder());
    for (const char* wanted :
         {"classifier.logits", "classifier.pooled,mlm.logits", "classifier.*,layer.0.output", "mlm.logits_at_positions",
          "emd.1.output", "layer.1.output,mlm.logits", "layer.0.output"}) {
        const std::vector<Trace> traces = model.forward_texts(texts, {}, StageFilter(wanted));
        for (std::size_t n = 0; n < texts.size(); ++n) {
            const Trace expected = model.forward(texts[n], {}, StageFilter(wanted));
            REQUIRE(traces[n].names() == expected.names());
            for (const Stage& stage : expected.stages())
                CHECK(traces[n].at(stage.name).as<float>().values() == stage.as<float>().values());
        }
    }
    // Stages inside layers are the reference's, for several texts as for one.
    const std::vector<Trace> inside = model.forward_texts(texts, {}, StageFilter("layer.0.c2p"));
    CHECK(inside[1].at("layer.0.c2p").shape() == Shape{2, 3, 5, 5});
    texts.push_back(tokens_input({1, 99}));
    CHECK_THROWS_AS(model.forward_texts(texts, {}, StageFilter("layer.1.output")), Error);
    CHECK(model.forward_texts({}, {}, StageFilter("layer.1.output")).empty());
    CHECK_THROWS_AS(model.forward_texts({texts[0], texts[1]}, {}, StageFilter("layer.1.output"), [] { return true; }),
                    Cancelled);
}

TEST_CASE("deberta: the formula of p2c names the row that was read", "[deberta][trace]") {
    const Deberta<double> model(small_config(), random_weights(small_config(), 5));
    const auto formula = [&](Dialect dialect) {
        return model.forward(sample_input(4, false), DebertaOptions::of(dialect)).at("layer.0.p2c").formula;
    };
    CHECK(formula(Dialect::official) == "k_j . q_r[delta(i,j)]");
    CHECK(formula(Dialect::paper) == "k_j . q_r[delta(j,i)]");
}

TEST_CASE("fast encoder: another length and another dialect make new tables", "[deberta][fast]") {
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

TEST_CASE("fast encoder: the same bits for every number of threads", "[deberta][fast][law]") {
    const DebertaConfig config = small_config();
    const auto weights = random_weights(config, 6);
    const ModelInput input = sample_input(90, true);
    ThreadPool alone(1), three(3);
    FastEncoder<float> blocks(config, weights);
    const DebertaOptions options;
    const auto bits = blocks.last_output(input, options, alone).values();
    CHECK(blocks.last_output(input, options, three).values() == bits);
}

TEST_CASE("fast encoder: what the fast path does not run is refused", "[deberta][fast]") {
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
    for (const Index rows : {0, 1, 5, 64, 300})
        for (const Index in : {0, 1, 63, 200, 600})  // none: the bias alone; 600: more than is summed at once
            for (const Index out : {1, 64, 100}) {
                const Matrix<TestType> x = random_rows<TestType>(rows, in, 1);
                const Dense<TestType> first{random_rows<TestType>(out, in, 2), random_rows<TestType>(1, out, 3)},
                    second{random_rows<TestType>(7, in, 4), {}};
                Matrix<TestType> y;
                for (const int threads : {1, 3}) {
                    ThreadPool pool(threads);
                    y.setConstant(rows, out + 7, std::numeric_limits<TestType>::quiet_NaN());
                    dense_blocks<TestType>(
                        x, pack_dense<TestType>({{first.weight, first.bias}, {second.weight, second.bias}}, pool),
                        Following::nothing, y, pool);
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
    const Dense<TestType> layer{random_rows<TestType>(3, 4, 1), {}};
    const PackedDense<TestType> packed = pack_dense<TestType>({{layer.weight, layer.bias}}, pool);
    // Registers of 64 bytes are slow where they straddle two lines of the cache.
    CHECK(reinterpret_cast<std::uintptr_t>(packed.weight.values.data()) % 64 == 0);
    Matrix<TestType> y(2, 3), narrow(2, 2);
    CHECK_THROWS_AS(dense_blocks<TestType>(random_rows<TestType>(2, 5, 1), packed, Following::nothing, y, pool), Error);
    CHECK_THROWS_AS(dense_blocks<TestType>(random_rows<TestType>(2, 4, 1), packed, Following::nothing, narrow, pool),
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

}  // namespace locus::test::test_fast_encoder

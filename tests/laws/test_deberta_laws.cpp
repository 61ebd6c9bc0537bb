#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/attention/scaled_dot_product.h"
#include "core/products.h"
#include "tests/max_abs.h"
#include "tests/random_model.h"

namespace locus::test::test_deberta_laws {

namespace {

const DebertaOptions kOfficial = DebertaOptions::of(Dialect::official);

double largest_difference(const Stage& a, const Stage& b) {
    REQUIRE(a.shape() == b.shape());
    double largest = 0;
    for (Index n = 0; n < a.size(); ++n) {
        REQUIRE(std::isfinite(a.at(n)));
        largest = std::max(largest, std::abs(a.at(n) - b.at(n)));
    }
    return largest;
}

}  // namespace

TEST_CASE("deberta: rows of probs sum to 1 or are zero", "[deberta][law]") {
    const Deberta<double> model(small_config(), random_weights(small_config(), 1));
    const ModelInput input = tokens_input({3, 5, 7, 9, 11, 2, 0, 0}, {1, 1, 1, 1, 1, 1, 0, 0});
    const Trace trace = model.forward(input, kOfficial, StageFilter("*.probs"));
    REQUIRE(trace.stages().size() == 4);
    for (const Stage& stage : trace.stages()) {
        const auto rows = stage.as<double>().rows();
        for (Index row = 0; row < rows.rows(); ++row) {
            const bool hidden = row % 8 >= 6;
            CHECK(std::abs(rows.row(row).sum() - (hidden ? 0 : 1)) <= 1e-15 * 8);
            if (hidden) CHECK(rows.row(row).isZero(0));
        }
    }
}

TEST_CASE("deberta: a zero relative table gives plain attention", "[deberta][law]") {
    DebertaConfig config = small_config();
    config.norm_rel_ebd = false;
    auto weights = random_weights(config, 2);
    weights->tensors["encoder.rel_embeddings.weight"].second.setZero();
    for (const char* bias : {"pos_key_proj.bias", "pos_query_proj.bias"})
        weights->tensors[layer_prefix(0) + "attention.self." + bias].second.setZero();
    const Deberta<double> model(config, weights);
    const Trace trace = model.forward(tokens_input({3, 5, 7, 9}), kOfficial, StageFilter("layer.0.*"));
    const auto& q = trace.at("layer.0.q").as<double>();
    const auto& k = trace.at("layer.0.k").as<double>();
    const auto& v = trace.at("layer.0.v").as<double>();
    for (Index h = 0; h < 3; ++h) {
        // The scale still counts three terms: queries shrink by sqrt(3) against plain attention.
        const Matrix<double> q_h = q.matrix(h) / std::sqrt(3.0);
        const Matrix<double> plain = scaled_dot_product<double>(q_h, k.matrix(h), v.matrix(h), Mask());
        const auto context = trace.at("layer.0.context").as<double>().matrix();
        CHECK(max_abs(context.middleCols(h * 4, 4) - plain) <= 1e-14);
    }
}

TEST_CASE("deberta: shifting all positions changes nothing in the encoder", "[deberta][law]") {
    // Hidden tokens in front move every visible token two places to the right.
    const Deberta<double> model(small_config(), random_weights(small_config(), 3));
    const Trace plain = model.forward(tokens_input({3, 5, 7, 9}), kOfficial, StageFilter("layer.1.output"));
    const Trace shifted =
        model.forward(tokens_input({0, 0, 3, 5, 7, 9}, {0, 0, 1, 1, 1, 1}), kOfficial, StageFilter("layer.1.output"));
    const auto a = plain.at("layer.1.output").as<double>().matrix();
    const auto b = shifted.at("layer.1.output").as<double>().matrix();
    CHECK(max_abs(a - b.bottomRows(4)) <= 1e-12);
}

TEST_CASE("deberta: permuting tokens and positions together permutes outputs", "[deberta][law]") {
    // Reversing the sentence changes the sign of every offset; with the table reversed about its middle row the scores
    // follow. T < k, so that nothing is clamped and row r <-> 2k - r is exact.
    DebertaConfig config = small_config();
    config.max_relative_positions = 8;
    auto weights = random_weights(config, 4);
    auto reversed = std::make_shared<MemoryWeights>(*weights);
    Matrix<double>& table = reversed->tensors["encoder.rel_embeddings.weight"].second;
    const Matrix<double> original = table;
    for (Index r = 1; r < 16; ++r) table.row(r) = original.row(16 - r);
    const Trace forward = Deberta<double>(config, weights)
                              .forward(tokens_input({3, 5, 7, 9, 11}), kOfficial, StageFilter("layer.1.output"));
    const Trace backward = Deberta<double>(config, reversed)
                               .forward(tokens_input({11, 9, 7, 5, 3}), kOfficial, StageFilter("layer.1.output"));
    const auto a = forward.at("layer.1.output").as<double>().matrix();
    const auto b = backward.at("layer.1.output").as<double>().matrix();
    CHECK(max_abs(a - b.colwise().reverse()) <= 1e-12);
}

TEST_CASE("deberta: padding does not change real tokens", "[deberta][law]") {
    DebertaConfig config = small_config();
    config.conv_kernel_size = 3;
    const Deberta<double> model(config, random_weights(config, 5));
    const Trace alone = model.forward(tokens_input({3, 5, 7, 9}), kOfficial);
    const Trace padded = model.forward(tokens_input({3, 5, 7, 9, 0, 0, 0}, {1, 1, 1, 1, 0, 0, 0}), kOfficial);
    for (const char* name : {"embeddings.output", "layer.0.output", "layer.1.output", "emd.1.output", "mlm.logits"}) {
        INFO(name);
        const auto a = alone.at(name).as<double>().matrix(), b = padded.at(name).as<double>().matrix();
        CHECK(max_abs(a - b.topRows(4)) <= 1e-12);
    }
}

TEST_CASE("deberta: a sample does not depend on its neighbours in the batch", "[deberta][law]") {
    const Deberta<double> model(small_config(), random_weights(small_config(), 6));
    ModelInput pair;
    pair.tokens = IndexTensor({2, 3}, {3, 5, 7, 9, 11, 13});
    const Trace both = model.forward(pair, kOfficial, StageFilter("mlm.logits"));
    const Trace second = model.forward(tokens_input({9, 11, 13}), kOfficial, StageFilter("mlm.logits"));
    CHECK(max_abs(both.at("mlm.logits").as<double>().matrix(1) - second.at("mlm.logits").as<double>().matrix()) <=
          1e-12);
}

TEST_CASE("deberta: the decoder hears absolute positions, the encoder does not", "[deberta][law]") {
    auto weights = random_weights(small_config(), 7);
    auto moved = std::make_shared<MemoryWeights>(*weights);
    moved->tensors["embeddings.position_embeddings.weight"].second *= -1;
    const ModelInput input = tokens_input({3, 5, 7, 9});
    const Trace a = Deberta<double>(small_config(), weights).forward(input, kOfficial);
    const Trace b = Deberta<double>(small_config(), moved).forward(input, kOfficial);
    CHECK(largest_difference(a.at("layer.1.output"), b.at("layer.1.output")) == 0);
    CHECK(largest_difference(a.at("mlm.logits"), b.at("mlm.logits")) > 1e-3);
    for (const char* name : {"emd.0.k", "emd.1.v"})
        CHECK(largest_difference(a.at(name), b.at(name)) == 0);  // keys and values come from h in both passes
}

TEST_CASE("deberta: the pre-norm decoder differs from the official one and keeps h as residual", "[deberta][law]") {
    DebertaOptions seed = kOfficial;
    seed.decoder = MaskDecoder::pre_norm;
    const Deberta<double> model(small_config(), random_weights(small_config(), 8));
    const ModelInput input = tokens_input({3, 5, 7, 9});
    const Trace official = model.forward(input, kOfficial), seeded = model.forward(input, seed);
    CHECK(largest_difference(official.at("emd.query.0"), seeded.at("emd.query.0")) == 0);
    CHECK(largest_difference(official.at("mlm.logits"), seeded.at("mlm.logits")) > 1e-3);
    // The residual of both passes is h: with the same context the second pass would equal the first.
    const auto h = official.at("layer.0.output").as<double>().matrix();
    const auto context = seeded.at("emd.1.context").as<double>().matrix();
    const auto weights = random_weights(small_config(), 8);
    const Matrix<double> w = weights->rows_f64("encoder.layer.1.attention.output.dense.weight", 0, 12);
    const Matrix<double> bias = weights->rows_f64("encoder.layer.1.attention.output.dense.bias", 0, 12);
    const Matrix<double> expected = times_transposed<double>(context, w).rowwise() + bias.transpose().row(0);
    CHECK(max_abs(seeded.at("emd.1.attention").as<double>().matrix() - (expected + h)) <= 1e-12);
}

TEST_CASE("deberta: asking for some stages gives the same values as asking for all", "[deberta][law]") {
    const Deberta<float> model(small_config(), random_weights(small_config(), 9));
    const ModelInput input = tokens_input({3, 5, 7, 9, 0}, {1, 1, 1, 1, 0});
    const Trace all = model.forward(input, kOfficial);
    CHECK(all.names() == model.stage_names(input, kOfficial));
    for (const Stage& stage : all.stages()) {
        INFO(stage.name);
        const Trace one = model.forward(input, kOfficial, StageFilter(stage.name));
        REQUIRE(one.stages().size() == 1);
        CHECK(largest_difference(one.at(stage.name), stage) == 0);
    }
}

TEST_CASE("deberta: sublayers after the last wanted stage are not computed", "[deberta]") {
    // Poisoned weights show what was read: NaN is reported by name.
    auto weights = random_weights(small_config(), 10);
    for (auto& [name, tensor] : weights->tensors)
        if (name.starts_with("encoder.layer.1.") || name.find("output.dense.weight") != std::string::npos)
            tensor.second(0, 0) = std::numeric_limits<double>::quiet_NaN();
    const Deberta<double> model(small_config(), weights);
    const auto run = [&](const char* stages) {
        model.forward(tokens_input({3, 5, 7}), kOfficial, StageFilter(stages));
        return model.warnings();
    };
    CHECK(run("layer.0.c2p,layer.0.scores,layer.0.context").empty());
    REQUIRE(run("layer.0.attention").size() == 1);
    CHECK(model.warnings()[0].find("encoder.layer.0.attention.output.dense.weight") != std::string::npos);
    REQUIRE(run("layer.0.ffn").size() == 2);
    CHECK(model.warnings()[1].find("encoder.layer.0.output.dense.weight") != std::string::npos);
    CHECK(run("layer.0.output").size() == 2);
}

TEST_CASE("deberta: the decoder's words do not need the plain last layer", "[deberta]") {
    const auto weights = random_weights(small_config(), 10);
    const Deberta<double> model(small_config(), weights);
    const Trace words = model.forward(tokens_input({3, 5, 7}), kOfficial, StageFilter("mlm.logits"));
    CHECK(words.names() == std::vector<std::string>{"mlm.logits"});
    const Trace both = model.forward(tokens_input({3, 5, 7}), kOfficial, StageFilter("layer.1.ffn,mlm.logits"));
    CHECK(both.names() == std::vector<std::string>{"layer.1.ffn", "mlm.logits"});
    CHECK(largest_difference(words.at("mlm.logits"), both.at("mlm.logits")) == 0);
}

TEST_CASE("deberta: impossible input is refused with the value", "[deberta]") {
    const Deberta<float> model(small_config(), random_weights(small_config(), 11));
    const auto sentence = [&](const ModelInput& input, const char* stages) -> std::string {
        try {
            model.forward(input, kOfficial, StageFilter(stages));
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    };
    CHECK(sentence(tokens_input({3, 37}), "*") == "tokens holds 37, expected ids from 0 to vocab_size - 1 = 36");
    CHECK(sentence(tokens_input({3, -1}), "*") == "tokens holds -1, expected ids from 0 to vocab_size - 1 = 36");
    ModelInput wrong_mask = tokens_input({3, 5, 7});
    wrong_mask.mask = IndexTensor({1, 2}, {1, 1});
    CHECK(sentence(wrong_mask, "*") == "mask has shape [1, 2], expected [1, 3] like tokens, or [1, 3, 3]");
    CHECK(sentence(tokens_input({3}), "layr.*").find("\"layr.*\" matches no stage") != std::string::npos);
    CHECK(sentence(ModelInput{}, "*").find("at least one token") != std::string::npos);
    const ModelInput long_text = tokens_input(std::vector<std::int64_t>(17, 3));
    CHECK(sentence(long_text, "*").find("has 16 rows") != std::string::npos);
    CHECK(sentence(long_text, "layer.*") == "accepted");
}

TEST_CASE("deberta: a missing or misshapen tensor is named", "[deberta]") {
    auto weights = random_weights(small_config(), 12);
    weights->tensors.erase("encoder.layer.1.output.dense.weight");
    CHECK_THROWS_WITH(Deberta<float>(small_config(), weights),
                      "memory: tensor encoder.layer.1.output.dense.weight is missing, expected one of shape [12, 20]");
    weights = random_weights(small_config(), 12);
    weights->tensors["embeddings.LayerNorm.bias"].first = {13};
    CHECK_THROWS_WITH(Deberta<float>(small_config(), weights),
                      "memory: tensor embeddings.LayerNorm.bias has shape [13], expected [12]");
}

}  // namespace locus::test::test_deberta_laws

#include <catch2/catch.hpp>
#include <string>

#include "core/models/deberta.h"
#include "core/models/deberta_config.h"

namespace locus::test::test_deberta_config {

namespace {

std::string config(const std::string& more, const std::string& type = "deberta-v2") {
    return R"({"model_type": ")" + type +
           R"(", "vocab_size": 29, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20)" +
           more + "}";
}

/// The sentence and status of the refusal.
std::pair<std::string, int> refusal(const std::string& json) {
    try {
        parse_deberta_config(json, "config.json");
    } catch (const Error& error) {
        return {error.what(), error.exit_status()};
    }
    return {"accepted", 0};
}

}  // namespace

TEST_CASE("deberta_config: pos_att_type as string and as list", "[config]") {
    for (const char* spelling : {R"("p2c|c2p")", R"("C2P|P2C")", R"(" c2p | p2c ")", R"(["p2c", " c2p"])"}) {
        const DebertaConfig parsed = parse_deberta_config(
            config(std::string(R"(, "relative_attention": true, "pos_att_type": )") + spelling), "config.json");
        CHECK(parsed.terms.c2p);
        CHECK(parsed.terms.p2c);
        CHECK(parsed.terms.count() == 3);
    }
    const DebertaConfig one =
        parse_deberta_config(config(R"(, "relative_attention": true, "pos_att_type": "c2p|c2p")"), "config.json");
    CHECK(one.terms.count() == 2);
    CHECK(one.listed_terms == 2);
}

TEST_CASE("deberta_config: without relative attention two codes still count the terms that are named", "[config]") {
    for (const auto& [type, listed] : {std::pair{"deberta", 4}, std::pair{"deberta-v2", 3}}) {
        const DebertaConfig parsed =
            parse_deberta_config(config(R"(, "pos_att_type": "p2c|c2p|c2p")", type), "config.json");
        const auto counted = [&](Dialect dialect) {
            return deberta_divisor_terms(parsed, DebertaOptions::of(dialect));
        };
        CHECK(parsed.terms.count() == 1);
        CHECK(counted(Dialect::reference) == 1);
        CHECK(counted(Dialect::paper) == 1);
        CHECK(counted(Dialect::official) == 3);
        CHECK(counted(Dialect::hf) == listed);
    }
}

TEST_CASE("deberta_config: the newer head is tied whatever tie_word_embeddings says", "[config]") {
    const auto tied = [](const std::string& more) {
        return parse_deberta_config(config(more), "config.json").tied_output;
    };
    CHECK(tied(""));
    CHECK(tied(R"(, "tie_word_embeddings": true)"));
    CHECK_FALSE(tied(R"(, "tie_word_embeddings": false)"));
    CHECK_FALSE(tied(R"(, "tie_word_embeddings": false, "legacy": true)"));
    CHECK(tied(R"(, "tie_word_embeddings": false, "legacy": false)"));
}

TEST_CASE("deberta_config: a missing pos_att_type is c2p for the official code and nothing for transformers",
          "[config]") {
    for (const char* type : {"deberta", "deberta-v2"}) {
        const DebertaConfig absolute = parse_deberta_config(config("", type), "config.json");
        const auto counted = [](const DebertaConfig& parsed, Dialect dialect) {
            return deberta_divisor_terms(parsed, DebertaOptions::of(dialect));
        };
        CHECK(counted(absolute, Dialect::official) == 2);
        CHECK(counted(absolute, Dialect::hf) == 1);
        CHECK(counted(absolute, Dialect::reference) == 1);
        const DebertaConfig none = parse_deberta_config(config(R"(, "pos_att_type": "none")", type), "config.json");
        CHECK(counted(none, Dialect::official) == 1);
        CHECK(counted(none, Dialect::hf) == (none.version == 1 ? 2 : 1));
        // Its c2p term would need weights that nobody else reads.
        const DebertaConfig relative =
            parse_deberta_config(config(R"(, "relative_attention": true)", type), "config.json");
        CHECK(counted(relative, Dialect::hf) == 1);
        CHECK_THROWS_WITH(counted(relative, Dialect::official), Catch::Contains("pos_att_type is missing"));
    }
}

TEST_CASE("deberta_config: -1 means max_position_embeddings, buckets give the span", "[config]") {
    const DebertaConfig parsed = parse_deberta_config(
        config(
            R"(, "relative_attention": true, "max_relative_positions": -1, "max_position_embeddings": 32, "position_buckets": 8)"),
        "config.json");
    CHECK(parsed.max_relative_positions == 32);
    CHECK(parsed.span() == 8);
    const DebertaConfig clamped = parse_deberta_config(
        config(R"(, "relative_attention": true, "max_relative_positions": 5, "position_buckets": -1)"), "config.json");
    CHECK(clamped.span() == 5);
    // Where offsets are not clamped first, the logarithm must rise up to the largest.
    const DebertaConfig short_reach = parse_deberta_config(
        config(R"(, "relative_attention": true, "max_relative_positions": 5, "position_buckets": 8)"), "config.json");
    CHECK_NOTHROW(deberta_buckets(short_reach, 30, OffsetClamp::official));
    CHECK_NOTHROW(deberta_buckets(short_reach, 5, OffsetClamp::hf));
    CHECK_THROWS_WITH(
        deberta_buckets(short_reach, 30, OffsetClamp::hf),
        "config.json: max_relative_positions is 5, expected more than position_buckets / 2 + 1 = 5 for 30 tokens of "
        "the dialect hf");
}

TEST_CASE("deberta_config: defaults are those of the code that wrote the file", "[config]") {
    const DebertaConfig parsed = parse_deberta_config(config(""), "config.json");
    CHECK(parsed.embedding_size == 12);
    CHECK(parsed.attention_head_size == 4);
    CHECK(parsed.position_biased_input);
    CHECK(parsed.type_vocab_size == 0);
    CHECK(parsed.layer_norm_eps == 1e-7);
    CHECK(parsed.conv_act == Activation::tanh);
    CHECK(parsed.hidden_act == Activation::gelu);
}

TEST_CASE("deberta_config: refusals name the field and what was expected", "[config]") {
    CHECK(refusal("{") == std::make_pair(std::string("config.json: not valid JSON at byte 2, expected one object"), 3));
    CHECK(refusal("[]").second == 3);
    CHECK(refusal(config("", "bert")) ==
          std::make_pair(std::string("config.json: model_type is \"bert\", expected deberta or deberta-v2"), 4));
    CHECK(refusal("{}").first == "config.json: model_type is missing, expected deberta or deberta-v2");
    CHECK(refusal(R"({"model_type": "deberta-v2"})").first ==
          "config.json: hidden_size is missing, expected a whole number of 1 or more");
    CHECK(refusal(config(R"(, "hidden_act": "swish")")).second == 4);
    for (const auto& [name, meant] : {std::pair{"gelu_python", Activation::gelu},  // all names of transformers
                                      {"gelu_new", Activation::gelu_tanh},
                                      {"gelu_fast", Activation::gelu_tanh},
                                      {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                      {"gelu_python_tanh", Activation::gelu_tanh},
                                      {"gelu_accurate", Activation::gelu_tanh},
                                      {"relu", Activation::relu},
                                      {"tanh", Activation::tanh}}) {
        INFO(name);
        Activation read = name == std::string("relu") ? Activation::tanh : Activation::relu;
        CHECK(parse_activation(name, read));
        CHECK(read == meant);
    }
    CHECK(refusal(R"({"model_type": "deberta-v2", "hidden_size": 12, "num_hidden_layers": 2147483647})").first ==
          "config.json: num_hidden_layers is 2147483647, expected a whole number from 1 to 10000");
    CHECK(refusal(config(R"(, "max_position_embeddings": -3)")).second == 3);
    CHECK(refusal(config(R"(, "max_position_embeddings": 2.5)")).second == 3);
    CHECK(refusal(config(R"(, "layer_norm_eps": 0)")).second == 3);
    CHECK(refusal(config(R"(, "pos_att_type": 7)")).second == 3);
    CHECK(refusal(config(R"(, "pos_att_type": "c2p,p2c")")) ==
          std::make_pair(std::string("config.json: pos_att_type is \"c2p,p2c\", expected c2p, p2c, both or none"), 4));
    CHECK(refusal(config(R"(, "pos_att_type": ["c2p", "p2p"])")).second == 4);
    CHECK(refusal(config(R"(, "norm_rel_ebd": "layernorm")")) ==
          std::make_pair(std::string("config.json: norm_rel_ebd is \"layernorm\", expected layer_norm or none"), 4));
    CHECK(refusal(config(R"(, "position_buckets": 7)")).second == 3);
    // More buckets than the model has positions: every offset is a bucket by itself.
    CHECK(parse_deberta_config(config(R"(, "position_buckets": 256, "max_position_embeddings": 64)"), "config.json")
              .span() == 256);
    CHECK(refusal(config(R"(, "attention_head_size": 5)")).second == 4);
    CHECK(refusal(config(R"(, "relative_attention": "yes")")).second == 3);
}

}  // namespace locus::test::test_deberta_config

// A trained model as a Hugging Face folder.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/io/checkpoint.h"
#include "core/models/model.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/training/model_folder.h"
#include "core/training/parameters.h"
#include "core/training/training_run.h"
#include "tests/run_program.h"

namespace locus::test::test_model_folder {

namespace {

const fs::path kCorpus = fs::path(LOCUS_SOURCE_DIR) / "assets/corpus/positions.txt";
const char* kText = "a new [MASK] opened beside the old mall.";

struct Fresh {
    ModelFolder model;
    Parameters<float> values;
};

/// A small model of random values that are no multiples of anything, so that a wrong place shows.
Fresh fresh_model(bool decoder = true) {
    static const TrainedVocabulary vocabulary = train_vocabulary(kCorpus);
    Fresh fresh;
    fresh.model.config = small_training_config();
    fresh.model.config.num_hidden_layers = 2;
    fresh.model.config.hidden_size = fresh.model.config.embedding_size = 32;
    fresh.model.config.attention_head_size = 8;
    fresh.model.config.intermediate_size = 48;
    fresh.model.config.vocab_size = vocabulary.pieces;
    fresh.model.tokenizer = vocabulary.files;
    fresh.model.readme = "# A model\n";
    fresh.values = Parameters<float>(masked_language_tensors(fresh.model.config, decoder));
    RandomStream random(3, 0);
    for (float& value : fresh.values.numbers()) value = static_cast<float>(0.3 * random.gaussian());
    return fresh;
}

bool same(const DebertaConfig& a, const DebertaConfig& b) {
    return a.vocab_size == b.vocab_size && a.hidden_size == b.hidden_size && a.embedding_size == b.embedding_size &&
           a.num_hidden_layers == b.num_hidden_layers && a.num_attention_heads == b.num_attention_heads &&
           a.attention_head_size == b.attention_head_size && a.intermediate_size == b.intermediate_size &&
           a.max_position_embeddings == b.max_position_embeddings && a.type_vocab_size == b.type_vocab_size &&
           a.position_buckets == b.position_buckets && a.max_relative_positions == b.max_relative_positions &&
           a.relative_attention == b.relative_attention && a.position_biased_input == b.position_biased_input &&
           a.share_att_key == b.share_att_key && a.norm_rel_ebd == b.norm_rel_ebd && a.terms.c2p == b.terms.c2p &&
           a.terms.p2c == b.terms.p2c && a.conv_kernel_size == b.conv_kernel_size && a.conv_groups == b.conv_groups &&
           a.conv_act == b.conv_act && a.hidden_act == b.hidden_act && a.pooler_hidden_act == b.pooler_hidden_act &&
           a.layer_norm_eps == b.layer_norm_eps && a.pad_token_id == b.pad_token_id;
}

Tensor<float> logits_of(const fs::path& folder, const std::vector<std::int64_t>& ids, Dialect dialect) {
    const Checkpoint checkpoint = open_checkpoint(folder);
    const auto model = open_model<float>(checkpoint.config_json, checkpoint.config_file.string(), checkpoint.weights);
    ModelInput input;
    input.tokens = IndexTensor({1, static_cast<Index>(ids.size())}, ids);
    const Trace trace = model->forward({input}, dialect, StageFilter("mlm.logits"));
    return std::get<Tensor<float>>(trace.find("mlm.logits")->values);
}

/// Theirs [T][V] beside ours [1,T,V].
void check_logits(const nlohmann::json& theirs, const Tensor<float>& ours) {
    REQUIRE(static_cast<Index>(theirs.size()) == ours.extent(1));
    double worst = 0, magnitude = 0;
    for (Index t = 0; t < ours.extent(1); ++t) {
        const auto row = theirs[static_cast<std::size_t>(t)].get<std::vector<float>>();
        REQUIRE(static_cast<Index>(row.size()) == ours.extent(2));
        for (Index v = 0; v < ours.extent(2); ++v) {
            const double expected = row[static_cast<std::size_t>(v)];
            worst = std::max(worst, std::abs(double{ours[t * ours.extent(2) + v]} - expected));
            magnitude = std::max(magnitude, std::abs(expected));
        }
    }
    CHECK(magnitude > 0.5);
    CHECK(worst <= 1e-5 * magnitude);
}

}  // namespace

TEST_CASE("model folder: a configuration comes back as it was", "[model_folder]") {
    DebertaConfig config = fresh_model().model.config;
    CHECK(same(parse_deberta_config(deberta_config_json(config), "config.json"), config));
    config.conv_kernel_size = 3;
    config.conv_groups = 2;
    config.conv_act = Activation::gelu_tanh;
    config.hidden_act = Activation::relu;
    config.pooler_hidden_act = "tanh";
    config.terms = {true, false, false};
    config.position_buckets = 0;
    config.max_relative_positions = 20;
    config.position_biased_input = true;
    config.type_vocab_size = 2;
    config.embedding_size = 16;
    config.share_att_key = config.norm_rel_ebd = false;
    config.layer_norm_eps = 3e-6;
    config.pad_token_id = 7;
    CHECK(same(parse_deberta_config(deberta_config_json(config), "config.json"), config));
    config.terms = {false, false, false};
    CHECK(same(parse_deberta_config(deberta_config_json(config), "config.json"), config));
    config.pad_token_id.reset();
    CHECK(same(parse_deberta_config(deberta_config_json(config), "config.json"), config));
    config.version = 1;
    CHECK(refusal([&] { deberta_config_json(config); }, Fault::unsupported) ==
          "config.json: version 1 of DeBERTa is not written, expected deberta-v2");
}

TEST_CASE("model folder: weights, words and configuration are read back to the last bit", "[model_folder]") {
    const TemporaryFolder folder;
    const Fresh fresh = fresh_model();
    write_model_folder(folder / "model", fresh.model, fresh.values);
    const Checkpoint checkpoint = open_checkpoint(folder / "model");
    CHECK(same(parse_deberta_config(checkpoint.config_json, "config.json"), fresh.model.config));
    const Parameters<float> found =
        read_parameters<float>(masked_language_tensors(fresh.model.config, true), *checkpoint.weights);
    CHECK((found.numbers().array() == fresh.values.numbers().array()).all());
    CHECK(open_tokenizer(folder / "model")->mask_id() == fresh.model.config.vocab_size - 1);
    CHECK((read_tokenizer_bytes(folder / "model") == fresh.model.tokenizer));
    CHECK(read_bytes(folder / "model/README.md") == "# A model\n");
    const auto config = nlohmann::json::parse(read_bytes(folder / "model/config.json"));
    CHECK(config["architectures"] == nlohmann::json{"DebertaV2ForMaskedLM"});
    CHECK(folder.count() == 1);
}

TEST_CASE("model folder: as half numbers, every value is the nearest one", "[model_folder]") {
    const TemporaryFolder folder;
    const Fresh fresh = fresh_model();
    write_model_folder(folder / "model", fresh.model, fresh.values, Dtype::f16);
    const Parameters<float> found = read_parameters<float>(masked_language_tensors(fresh.model.config, true),
                                                           *open_checkpoint(folder / "model").weights);
    CHECK((found.numbers().array() == fresh.values.numbers().array().cast<Eigen::half>().cast<float>()).all());
}

TEST_CASE("model folder: a checkpoint that cannot be written leaves the last good one", "[model_folder][bad]") {
    const TemporaryFolder folder;
    Fresh fresh = fresh_model();
    write_model_folder(folder / "model", fresh.model, fresh.values);
    const std::string before = read_bytes(folder / "model/model.safetensors");
    fresh.values.numbers()[0] = 7;
    fresh.model.more.push_back({"training_state.safetensors", [](const ByteSink& sink) {
                                    sink("half", 4);
                                    throw Error(Fault::unreadable, "no room");
                                }});
    CHECK(refusal([&] { write_model_folder(folder / "model", fresh.model, fresh.values); }) == "no room");
    CHECK((read_bytes(folder / "model/model.safetensors") == before));
    CHECK_FALSE(fs::exists(folder / "model/training_state.safetensors"));
    CHECK(folder.count() == 1);
    fs::remove(folder / "model/spm.model");
    CHECK(refusal([&] { read_tokenizer_bytes(folder / "model"); }) ==
          (folder / "model/spm.model").string() + ": cannot be opened: No such file or directory");
}

TEST_CASE("model folder: microsoft/DeBERTa opens it and computes the same words, decoder included",
          "[model_folder][python]") {
    const fs::path env = "/usr/bin/env";
    if (run_file(env, {"python3", "-c", "import safetensors, DeBERTa.apps.models.masked_language_model"}).status != 0) {
        WARN("skipped: python3 here has no DeBERTa and safetensors");
        return;
    }
    const TemporaryFolder folder;
    const Fresh fresh = fresh_model();
    write_model_folder(folder / "model", fresh.model, fresh.values);
    const std::vector<std::int64_t> ids = open_tokenizer(folder / "model")->encode(kText).ids;
    const fs::path script = fs::path(LOCUS_SOURCE_DIR) / "tests/unit/training/open_folder_official.py";
    const Outcome outcome =
        run_file(env, {"python3", script.string(), (folder / "model").string(), nlohmann::json(ids).dump()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const auto found = nlohmann::json::parse(outcome.out.substr(outcome.out.find('{')));
    CHECK(found["missing"].empty());
    CHECK(found["unexpected"].empty());
    check_logits(found["logits"], logits_of(folder / "model", ids, Dialect::official));
}

TEST_CASE("model folder: transformers opens it and computes the same words", "[model_folder][python]") {
    const fs::path env = "/usr/bin/env";
    if (run_file(env, {"python3", "-c", "import torch, transformers, sentencepiece"}).status != 0) {
        WARN("skipped: python3 here has no torch, transformers and sentencepiece");
        return;
    }
    const TemporaryFolder folder;
    for (const bool decoder : {true, false}) {
        const Fresh fresh = fresh_model(decoder);
        write_model_folder(folder / "model", fresh.model, fresh.values);
        const fs::path script = fs::path(LOCUS_SOURCE_DIR) / "tests/unit/training/open_folder.py";
        const Outcome outcome = run_file(env, {"python3", script.string(), (folder / "model").string(), kText});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        const auto found = nlohmann::json::parse(outcome.out);
        const std::vector<std::int64_t> ids = open_tokenizer(folder / "model")->encode(kText).ids;
        CHECK(found["ids"].get<std::vector<std::int64_t>>() == ids);
        CHECK(found["missing"].empty());
        // Its decoder knows no absolute positions, so that table alone is left over.
        CHECK(found["unexpected"].size() <= (decoder ? 1u : 0u));
        for (const auto& name : found["unexpected"]) CHECK(name == "deberta.embeddings.position_embeddings.weight");
        check_logits(found["logits"], logits_of(folder / "model", ids, Dialect::hf));
    }
}

}  // namespace locus::test::test_model_folder

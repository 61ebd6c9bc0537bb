// One sentence for everything that RoFormer, Transformer-XL and XLNet cannot compute.
#include "core/models/roformer.h"
#include "core/models/transformer_xl.h"
#include "core/models/xlnet.h"
#include "tests/files.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_family_bad_input {

using nlohmann::json;

namespace {

json config_of(const char* name) { return read_json(kOracle / name / "model" / "config.json"); }

ModelInput tokens_of(const Shape& shape) {
    ModelInput input;
    input.tokens = IndexTensor(shape);
    return input;
}

/// The sentence a model refuses this input with, before and instead of computing.
std::string refused(const char* name, const std::vector<ModelInput>& segments) {
    const auto model = open_case_model<float>(kOracle / name / "model");
    const std::string sentence = refusal([&] { model->forward(segments, Dialect::reference); }, Fault::usage);
    CHECK(refusal([&] { model->check(segments, Dialect::reference); }, Fault::usage) == sentence);
    return sentence;
}

/// The tensors of a checkpoint but one.
class Without : public WeightSource {
public:
    Without(std::shared_ptr<const WeightSource> all, std::string hidden)
        : all_(std::move(all)), hidden_(std::move(hidden)) {}
    std::optional<Shape> shape(const std::string& name) const override {
        return name == hidden_ ? std::nullopt : all_->shape(name);
    }
    std::vector<std::string> names() const override {
        std::vector<std::string> names = all_->names();
        std::erase(names, hidden_);
        return names;
    }
    std::string location() const override { return all_->location(); }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        return all_->rows_f32(name, first, rows);
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return all_->rows_f64(name, first, rows);
    }

private:
    std::shared_ptr<const WeightSource> all_;
    std::string hidden_;
};

/// The tensors of a checkpoint and the name of one more.
class WithOneMore : public Without {
public:
    WithOneMore(std::shared_ptr<const WeightSource> all, std::string more)
        : Without(std::move(all), ""), more_(std::move(more)) {}
    std::optional<Shape> shape(const std::string& name) const override {
        return name == more_ ? std::optional(Shape{2, 2}) : Without::shape(name);
    }
    std::vector<std::string> names() const override {
        std::vector<std::string> names = Without::names();
        names.push_back(more_);
        return names;
    }

private:
    std::string more_;
};

/// The tensors of a checkpoint, and one as large as `table` under the name `own`, whose numbers are those plus `shift`
/// in its last row.
class WithOwn : public Without {
public:
    WithOwn(std::shared_ptr<const WeightSource> all, std::string own, std::string table, float shift)
        : Without(std::move(all), ""), own_(std::move(own)), table_(std::move(table)), shift_(shift) {}
    std::optional<Shape> shape(const std::string& name) const override {
        return Without::shape(name == own_ ? table_ : name);
    }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        Matrix<float> values = Without::rows_f32(name == own_ ? table_ : name, first, rows);
        if (name == own_ && first + rows == shape(own_)->at(0)) values.bottomRows(1).array() += shift_;
        return values;
    }

private:
    std::string own_, table_;
    float shift_;
};

bool says(const std::string& sentence, const std::string& what) {
    INFO(sentence);
    return sentence.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("families: configurations that cannot be are refused by file and field", "[families][bad]") {
    const auto roformer = [](const char* field, const json& value) {
        json config = config_of("hf_roformer");
        config[field] = value;
        return refusal([&] { parse_roformer_config(config.dump(), "config.json"); });
    };
    CHECK(says(roformer("hidden_size", 21), "hidden_size is 21, expected an even width per head (3 heads)"));
    CHECK(says(roformer("hidden_size", 25), "a multiple of num_attention_heads = 3"));
    CHECK(says(roformer("num_hidden_layers", 0), "num_hidden_layers is 0"));
    CHECK(says(roformer("rotary_value", "yes"), "rotary_value"));
    for (const auto& [field, value] : {std::pair<const char*, json>{"norm_type", "rms_norm"}, {"use_bias", false}}) {
        json second = config_of("hf_roformer");
        second[field] = value;
        CHECK(says(refusal([&] { parse_roformer_config(second.dump(), "config.json"); }, Fault::unsupported),
                   "RoFormer v2 is not computed"));
    }
    const auto xl = [](const char* field, const json& value, Fault fault) {
        json config = config_of("txl_basic");
        config[field] = value;
        return refusal([&] { parse_transformer_xl_config(config.dump(), "config.json"); }, fault);
    };
    CHECK(says(xl("d_model", 11, Fault::unreadable), "d_model is 11, expected an even number"));
    CHECK(says(xl("attn_type", 1, Fault::unsupported), "attn_type is 1"));
    CHECK(says(xl("mem_len", -3, Fault::unreadable), "mem_len is -3"));
    CHECK(says(xl("cutoffs", 7, Fault::unreadable), "cutoffs is 7, expected a list of whole numbers from 1 to 22"));
    CHECK(says(xl("cutoffs", {5, 23}, Fault::unreadable), "cutoffs is [5,23], expected a list of whole numbers"));
    CHECK(says(xl("cutoffs", {5, 5}, Fault::unreadable), "cutoffs is [5,5], expected numbers that rise"));
    CHECK(says(xl("div_val", 0, Fault::unreadable), "div_val is 0"));
    CHECK(says(xl("tie_projs", {false, true}, Fault::unreadable),
               "tie_projs is [false,true], expected at most 1, one for each"));
    CHECK(says(xl("tie_projs", {1}, Fault::unreadable), "tie_projs is [1], expected a list of true and false"));
    json narrow = config_of("hf_txl_word_clusters");
    narrow["div_val"] = 5;
    CHECK(says(refusal([&] { parse_transformer_xl_config(narrow.dump(), "config.json"); }),
               "div_val is 5, expected one that leaves the vectors of cluster 2 a channel: d_embed is 16"));
    json config = config_of("hf_xlnet_bi");
    config["attn_type"] = "both";
    CHECK(says(refusal([&] { parse_xlnet_config(config.dump(), "config.json"); }), "attn_type is \"both\""));
    CHECK(says(refusal([] { family_of("{\"model_type\": \"gpt2\"}", "config.json"); }, Fault::unsupported),
               "model_type is \"gpt2\""));
    CHECK(says(refusal([] { family_of("[1]", "config.json"); }), "is not a JSON object"));
}

TEST_CASE("families: fields of config.json mean what transformers reads in them", "[families]") {
    json clusters = config_of("hf_txl_word_clusters");
    clusters.erase("tie_projs");
    const auto tied = [&] { return parse_transformer_xl_config(clusters.dump(), "config.json").tied_projections; };
    CHECK(tied() == std::vector<bool>{false, true, true});
    for (const json& none : {json(nullptr), json::array()}) {
        clusters["tie_projs"] = none;
        CHECK(tied() == std::vector<bool>{false, false, false});
    }
    for (const char* name : {"txl_basic", "hf_xlnet_bi"}) {
        const json plain = config_of(name);
        json other = plain;
        for (const auto& [ours, theirs] : {std::pair{"vocab_size", "n_token"},
                                           {"d_model", "hidden_size"},
                                           {"n_head", "num_attention_heads"},
                                           {"n_layer", "num_hidden_layers"}}) {
            other[theirs] = plain.at(ours);
            other.erase(ours);
        }
        const Checkpoint checkpoint = open_checkpoint(kOracle / name / "model");
        CHECK(open_model<float>(other.dump(), "config.json", checkpoint.weights)->sizes().layers ==
              open_model<float>(plain.dump(), "config.json", checkpoint.weights)->sizes().layers);
    }
    json xlnet = config_of("hf_xlnet_bi");
    xlnet["summary_type"] = "cls_index";
    CHECK(parse_xlnet_config(xlnet.dump(), "config.json").summary_type == "last");
}

TEST_CASE("families: a missing or misshapen weight is named", "[families][bad]") {
    for (const char* name : {"hf_roformer", "txl_basic", "hf_xlnet_bi"}) {
        const Checkpoint checkpoint = open_checkpoint(kOracle / name / "model");
        json config = json::parse(checkpoint.config_json);
        config["vocab_size"] = config["vocab_size"].get<int>() + 1;
        CHECK(
            says(refusal([&] { open_model<float>(config.dump(), "config.json", checkpoint.weights); }), "has shape ["));
        config = json::parse(checkpoint.config_json);
        config[config.contains("n_layer") ? "n_layer" : "num_hidden_layers"] = 3;
        CHECK(
            says(refusal([&] { open_model<float>(config.dump(), "config.json", checkpoint.weights); }), "is missing"));
    }
}

TEST_CASE("families: what the file holds and the model does not compute is said", "[families][bad]") {
    for (const char* name : {"hf_deberta_v2_short", "hf_roformer", "txl_basic", "hf_xlnet_bi"}) {
        INFO(name);
        const Checkpoint checkpoint = open_checkpoint(kOracle / name / "model");
        json config = json::parse(checkpoint.config_json);
        CHECK(open_model<float>(config.dump(), "config.json", checkpoint.weights)->warnings().empty());
        config[config.contains("n_layer") ? "n_layer" : "num_hidden_layers"] = 1;
        const auto warnings = open_model<float>(config.dump(), "config.json", checkpoint.weights)->warnings();
        REQUIRE(warnings.size() == 1);
        CHECK(says(warnings[0], ", but config.json counts 1 layer: what lies beyond is not computed"));
    }
    const std::map<std::string, std::string> adapters = {
        {"hf_deberta_v2_short", "encoder.layer.1.attention.self.query_proj.lora_A.default.weight"},
        {"hf_roformer", "encoder.layer.0.adapter.down.weight"},
        {"hf_xlnet_bi", "layer.0.rel_attn.lora_B.weight"}};
    for (const auto& [name, adapter] : adapters) {
        const Checkpoint checkpoint = open_checkpoint(kOracle / name / "model");
        const auto model = open_model<float>(checkpoint.config_json, "config.json",
                                             std::make_shared<WithOneMore>(checkpoint.weights, adapter));
        REQUIRE(model->warnings().size() == 1);
        CHECK(says(model->warnings()[0], "holds 1 tensor inside its layers that no part of this model reads, such as " +
                                             adapter + ": what they change is not computed"));
    }
    const Checkpoint named_otherwise = open_checkpoint(kOracle / "hf_xlnet_bi" / "model");
    const std::string missing = "layer.0.ff.layer_1.weight";
    const auto without = std::make_shared<Without>(named_otherwise.weights, missing);
    CHECK(says(refusal([&] {
                   open_model<float>(named_otherwise.config_json, "config.json",
                                     std::make_shared<WithOneMore>(without, "mine." + missing));
               }),
               "it holds mine." + missing + ", whose prefix is not one that is taken off"));
    const Checkpoint relative = open_checkpoint(kOracle / "hf_deberta_v2_short" / "model");
    json absolute = json::parse(relative.config_json);
    absolute["relative_attention"] = false;
    const auto said = open_model<float>(absolute.dump(), "config.json", relative.weights)->warnings();
    REQUIRE(said.size() == 1);
    CHECK(says(said[0], "holds encoder.rel_embeddings.weight, but relative_attention is not true"));
    const Checkpoint typed = open_checkpoint(kOracle / "hf_deberta_v2_inputs" / "model");
    json untyped = json::parse(typed.config_json);
    untyped["type_vocab_size"] = 0;
    const auto warnings = open_model<float>(untyped.dump(), "config.json", typed.weights)->warnings();
    REQUIRE(warnings.size() == 1);
    CHECK(says(warnings[0], "embeddings.token_type_embeddings.weight, but type_vocab_size is 0"));
    for (const char* name : {"hf_deberta_v2_short", "hf_roformer"}) {
        INFO(name);
        const Checkpoint checkpoint = open_checkpoint(kOracle / name / "model");
        const std::string dense = "cls.predictions.transform.dense.weight";
        REQUIRE(checkpoint.weights->shape(dense));
        const auto model = open_model<float>(checkpoint.config_json, "config.json",
                                             std::make_shared<Without>(checkpoint.weights, dense));
        REQUIRE(model->warnings().size() == 1);
        CHECK(says(model->warnings()[0], "but no " + dense + ": no word is predicted"));
    }
}

TEST_CASE("families: an output matrix that is tied and holds other numbers is said", "[families][bad]") {
    struct Tie {
        const char *model, *own, *table;
    };
    for (const Tie& tie :
         {Tie{"hf_deberta_v2_short", "cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"},
          Tie{"hf_roformer", "cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"},
          Tie{"hf_xlnet_bi", "lm_loss.weight", "word_embedding.weight"},
          Tie{"txl_basic", "crit.out_layers.0.weight", "word_emb.emb_layers.0.weight"},
          Tie{"txl_word_clusters", "crit.out_layers.2.weight", "word_emb.emb_layers.2.weight"},
          Tie{"txl_word_clusters", "crit.out_projs.1", "word_emb.emb_projs.1"}}) {
        INFO(tie.model << " " << tie.own);
        const Checkpoint checkpoint = open_checkpoint(kOracle / tie.model / "model");
        const auto warnings = [&](float shift) {
            const auto model =
                open_model<float>(checkpoint.config_json, "config.json",
                                  std::make_shared<WithOwn>(checkpoint.weights, tie.own, tie.table, shift));
            const auto forward = [&](const char* stages) {
                model->forward({tokens_of({1, 4})}, Dialect::reference, StageFilter(stages));
            };
            forward("embeddings.*");
            CHECK(model->warnings().empty());  // what is not read is not compared
            forward("*logits");
            forward("*logits");
            return model->warnings();
        };
        CHECK(warnings(0).empty());
        const auto said = warnings(0.5f);
        REQUIRE(said.size() == 1);
        CHECK(says(said[0], std::string("config.json ties ") + tie.own + " to " + tie.table +
                                ", but the file holds other numbers for it"));
    }
}

TEST_CASE("families: a table of angles that is not RoFormer's is used, and said", "[families][bad]") {
    const Checkpoint checkpoint = open_checkpoint(kOracle / "hf_roformer" / "model");
    const std::string table = "encoder.embed_positions.weight";
    const Index positions = checkpoint.weights->shape(table)->at(0);
    const auto warnings = [&](float shift, Index length) {
        const auto model = open_model<float>(checkpoint.config_json, "config.json",
                                             std::make_shared<WithOwn>(checkpoint.weights, table, table, shift));
        const std::vector<ModelInput> text = {tokens_of({1, length})};
        for (int pass = 0; pass < 2; ++pass) model->forward(text, Dialect::reference, StageFilter("rotary.sin"));
        return model->warnings();
    };
    CHECK(warnings(0, positions).empty());
    CHECK(warnings(0.003f, positions).empty());    // as BF16 rounds
    CHECK(warnings(0.5f, positions - 1).empty());  // the row that is wrong is not read
    const auto said = warnings(0.5f, positions);
    REQUIRE(said.size() == 1);
    CHECK(says(said[0], table + " does not hold the sines and cosines of i / 10000^(2t/d), from i = " +
                            std::to_string(positions - 1) + ", t = 0 on; it is used as it is"));
}

TEST_CASE("families: absent fields of which transformers takes another value are said", "[families][bad]") {
    const auto warnings = [](const char* name, const std::vector<std::string>& fields, bool null) {
        const Checkpoint checkpoint = open_checkpoint(kOracle / name / "model");
        json config = json::parse(checkpoint.config_json);
        for (const std::string& field : fields)
            if (null)
                config[field] = nullptr;
            else
                config.erase(field);
        return open_model<float>(config.dump(), "config.json", checkpoint.weights)->warnings();
    };
    const auto said = warnings("txl_basic", {"mem_len", "clamp_len", "same_length", "untie_r"}, false);
    REQUIRE(said.size() == 4);
    CHECK(says(said[0], "config.json has no mem_len, and 0 is taken: transformers would take 1600"));
    CHECK(says(said[1], "has no clamp_len, and -1 is taken: transformers would take 1000"));
    CHECK(says(said[2], "has no same_length, and false is taken: transformers would take true"));
    CHECK(says(said[3], "has no untie_r, and false is taken: transformers would take true"));
    const auto xlnet = warnings("hf_xlnet_mems", {"mem_len"}, false);
    REQUIRE(xlnet.size() == 1);
    CHECK(says(xlnet[0], "config.json has no mem_len, and 0 is taken: transformers would take 512"));
    CHECK(warnings("hf_xlnet_mems", {"mem_len"}, true).empty());

    const Checkpoint checkpoint = open_checkpoint(kOracle / "hf_xlnet_mems" / "model");
    json config = json::parse(checkpoint.config_json);
    config["use_mems_eval"] = false;
    const auto without = open_model<float>(config.dump(), "config.json", checkpoint.weights)->warnings();
    REQUIRE(without.size() == 1);
    CHECK(says(without[0], "config.json: use_mems_eval is false: transformers would hand no memory on"));
}

TEST_CASE("families: tables that do not fit the clusters of words are named", "[families][bad]") {
    const Checkpoint checkpoint = open_checkpoint(kOracle / "hf_txl_word_clusters" / "model");
    const auto refused = [&](const char* field, const json& value) {
        json config = json::parse(checkpoint.config_json);
        config[field] = value;
        return refusal([&] { open_model<float>(config.dump(), "config.json", checkpoint.weights); });
    };
    CHECK(says(refused("cutoffs", {7, 14}), "word_emb.emb_layers.1.weight has shape [6, 4], expected [7, 4]"));
    CHECK(says(refused("cutoffs", {7, 13, 20}), "div_val is 4"));  // 16 / 4^3
    CHECK(says(refused("div_val", 2), "word_emb.emb_layers.1.weight has shape [6, 4], expected [6, 8]"));
    CHECK(says(refused("div_val", 1), "word_emb.emb_layers.0.weight has shape [7, 16], expected [23, 16]"));
    CHECK(says(refused("cutoffs", json::array()), "tie_projs is [false,true,true], expected at most 1"));
    CHECK(says(refused("tie_word_embeddings", false), "crit.out_layers.0.weight is missing"));
}

TEST_CASE("families: inputs that do not fit are refused by name", "[families][bad]") {
    ModelInput input = tokens_of({1, 4});
    input.tokens[2] = 999;
    for (const char* name : {"hf_roformer", "txl_basic", "hf_xlnet_bi"})
        CHECK(says(refused(name, {input}), "tokens holds 999"));
    input = tokens_of({1, 4});
    input.mask_positions = IndexTensor({6}, {0, 1, 0, 2, 0, 3});
    CHECK(says(refused("hf_roformer", {input}), "mask_positions has shape [6], expected [N, 2]"));
    input.mask_positions = IndexTensor({2, 3});
    CHECK(says(refused("hf_roformer", {input}), "mask_positions has shape [2, 3], expected [N, 2]"));
    CHECK(says(refused("hf_roformer", {tokens_of({1, 4}), tokens_of({1, 4})}), "no memory"));
    CHECK(says(refused("txl_basic", {tokens_of({1, 4}), tokens_of({2, 4})}), "2 samples but the segment before had 1"));
    CHECK(says(refused("hf_xlnet_mems", {tokens_of({1, 4}), tokens_of({2, 4})}), "2 samples"));
    CHECK(says(refused("hf_xlnet_bi_data", {tokens_of({3, 4})}), "an even number"));
}

TEST_CASE("families: a stage that does not exist and a text that is too long are known without computing",
          "[families][bad]") {
    for (const char* name : {"hf_deberta_v2_long", "hf_roformer", "txl_basic", "hf_xlnet_bi"}) {
        const auto model = open_case_model<float>(kOracle / name / "model");
        const std::vector<ModelInput> four = {tokens_of({1, 4})};
        CHECK_NOTHROW(model->check(four, Dialect::reference, StageFilter("layer.0.*")));
        CHECK(says(refusal([&] { model->check(four, Dialect::reference, StageFilter("layer.9.*")); }, Fault::usage),
                   "\"layer.9.*\" matches no stage"));
    }
    const auto roformer = open_case_model<float>(kOracle / "hf_roformer" / "model");
    const std::vector<ModelInput> longer = {tokens_of({1, 4000})};
    CHECK(says(refusal([&] { roformer->check(longer, Dialect::reference); }, Fault::unsupported), "has 4000 tokens"));
    // Several texts are as many inputs, without a memory of those before them.
    const auto xl = open_case_model<float>(kOracle / "txl_basic" / "model");
    const std::vector<ModelInput> texts = {tokens_of({1, 4}), tokens_of({1, 3})};
    CHECK_FALSE(xl->takes_fast_path(texts[0], Dialect::reference, StageFilter("lm.logits")));
    const std::vector<Trace> together = xl->forward_texts(texts, Dialect::reference, StageFilter("lm.logits"));
    REQUIRE(together.size() == 2);
    for (std::size_t n = 0; n < 2; ++n)
        CHECK(together[n].at("lm.logits").as<float>().values() ==
              xl->forward({texts[n]}, Dialect::reference).at("lm.logits").as<float>().values());
}

TEST_CASE("families: memory of the wrong width or count is refused", "[families][bad]") {
    ModelInput input = tokens_of({1, 4});
    input.memories.assign(3, Tensor<double>({1, 5, 10}));
    input.memories[1] = Tensor<double>({1, 5, 12});
    CHECK(says(refused("txl_basic", {input}), "memory.1 has shape [1, 5, 12], expected [1, 5, 10]"));
    input.memories.resize(2);
    CHECK(says(refused("txl_basic", {input}), "2 memories, expected 3"));
    input.memories.assign(2, Tensor<double>({1, 6, 10}));
    CHECK(says(refused("hf_xlnet_mems", {input}), "memory.0 has shape [1, 6, 10], expected [1, 6, 12]"));
}

TEST_CASE("families: masks and targets of XLNet that cannot be are refused", "[families][bad]") {
    const auto with = [](auto change) {
        ModelInput input = tokens_of({1, 4});
        change(input);
        return refused("hf_xlnet_bi", {input});
    };
    CHECK(says(with([](ModelInput& in) { in.perm_mask = IndexTensor({1, 3, 4}); }), "perm_mask has shape [1, 3, 4]"));
    CHECK(says(with([](ModelInput& in) {
                   in.perm_mask = IndexTensor({1, 4, 4}, std::vector<std::int64_t>(16, 2));
               }),
               "perm_mask holds 2"));
    CHECK(says(with([](ModelInput& in) { in.input_mask = IndexTensor({4, 1}); }), "input_mask has shape [4, 1]"));
    CHECK(says(with([](ModelInput& in) {
                   in.target_mapping = IndexTensor({1, 4});
               }),
               "target_mapping has shape [1, 4]"));
    CHECK(says(with([](ModelInput& in) {
                   in.target_mapping = IndexTensor({1, 1, 4}, {1, 0, 1, 0});
               }),
               "row 0 has ones at 0 and 2"));
    CHECK(says(with([](ModelInput& in) {
                   in.mask = IndexTensor({1, 4}, {1, 1, 1, 1});
                   in.input_mask = IndexTensor({1, 4});
               }),
               "both mask (1 = visible) and input_mask"));
    CHECK(says(with([](ModelInput& in) { in.mask = IndexTensor({1, 4, 4}); }), "perm_mask"));
    CHECK(says(with([](ModelInput& in) {
                   in.target_mapping = IndexTensor({1, 1, 4}, {1, 0, 0, 0});
                   in.labels = IndexTensor({1, 4});
               }),
               "labels has shape [1, 4], expected [1, 1]"));
}

}  // namespace locus::test::test_family_bad_input

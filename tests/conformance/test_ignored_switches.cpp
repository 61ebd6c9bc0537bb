// Ports that ignore a switch of config.json, heads without a bias, and buckets that reach past the last position: the
// name says which.
#include "core/conformance/diagnosis/diagnosis.h"
#include "tests/changed_model.h"
#include "tests/conformance/toy/toy_port.h"

namespace locus::test::test_ignored_switches {

using namespace locus::conformance;

namespace {

/// A recorded model with such a switch, and what it was given.
struct Switched {
    TemporaryFolder folder;
    fs::path model = folder / "model";
    std::vector<ModelInput> segments;

    Switched(const char* name, const nlohmann::json& config,
             const std::vector<std::pair<std::string, Shape>>& more = {})
        : segments(read_segments(kOracle / name / "inputs.safetensors", kOracle / name / "trace.safetensors")) {
        copy_changed(kOracle / name / "model", model, config, more);
    }

    /// What is said of a port that computes as if the switch were not there.  read: the folder that it reads, where a
    /// toy port knows the switch.
    void check_name(const std::string& stage, int mistake, const std::string& how, const fs::path& read = {},
                    Dialect dialect = Dialect::hf, const toy::Injection& injected = {}) const {
        toy::ToyOptions options;
        options.hugging_face = dialect == Dialect::hf;
        options.injected = injected;
        const Trace port = toy::run_toy<float>((read.empty() ? model : read).string(), segments, options);
        const Trace reference = open_case_model<double>(model)->forward(segments, dialect);
        const Comparison comparison = compare(reference, port);
        REQUIRE(comparison.first());
        CHECK(comparison.first()->name == stage);
        const auto opened = ModelFolder::open(model.string());
        const Diagnosis said = diagnose({reference, port, opened, segments, dialect}, comparison, *comparison.first());
        INFO(said.pattern);
        REQUIRE(said.named);
        CHECK(said.named->mistake == mistake);
        CHECK(said.named->how == how);
        CHECK(said.equivalent.empty());
    }
};

}  // namespace

TEST_CASE("ignored switch: a head that takes the word table where the model has a matrix of its own", "[kit]") {
    const Switched model("hf_deberta_v2_short", {{"tie_word_embeddings", false}},
                         {{"cls.predictions.decoder.weight", {29, 12}}});
    model.check_name("mlm.logits", 112, "the word table, although the head has a matrix of its own");
}

TEST_CASE("ignored switch: the tied table where Transformer-XL and XLNet have another, and the reverse", "[kit]") {
    // A toy port knows the switch, so it reads a folder that says the reverse.
    const auto txl = [](bool tied) { return nlohmann::json{{"tie_weight", tied}, {"tie_word_embeddings", tied}}; };
    const Switched own("txl_same_length", txl(false)), tied("txl_same_length", txl(true));
    own.check_name("segment.0.lm.logits", 112, "the word table, although the head has a matrix of its own", tied.model,
                   Dialect::official);
    tied.check_name("segment.0.lm.logits", 112, "another matrix of the checkpoint", own.model, Dialect::official);
    const Switched xlnet("hf_xlnet_order_3241", {{"tie_word_embeddings", false}}, {{"lm_loss.weight", {29, 12}}});
    xlnet.check_name("lm.logits", 112, "the word table, although the head has a matrix of its own",
                     kOracle / "hf_xlnet_order_3241" / "model");
}

TEST_CASE("ignored switch: the tables of an adaptive softmax, its biases and its ties", "[kit]") {
    const char* name = "hf_txl_word_clusters_one_table";
    const Switched own(name, {{"tie_word_embeddings", false}}), tied(name, {{"tie_word_embeddings", true}});
    own.check_name("segment.0.lm.clusters", 112, "the word table, although the head has a matrix of its own",
                   tied.model);
    tied.check_name("segment.0.lm.clusters", 112, "another matrix of the checkpoint", own.model);
    own.check_name("segment.0.lm.clusters", 52, "without its bias", {}, Dialect::hf, toy::Injection{52, 3});
    for (const Dialect dialect : {Dialect::hf, Dialect::official}) {
        own.check_name("segment.0.lm.clusters", 113, "every output projection tied to the input's", {}, dialect,
                       toy::Injection{113, 2});
        own.check_name("segment.0.lm.clusters", 113, "clusters from the other end", {}, dialect,
                       toy::Injection{113, 0});
    }
    const Switched all(name, {{"tie_projs", {true, true, true, true}}});
    all.check_name("segment.0.lm.clusters", 52, "without its bias", {}, Dialect::official, toy::Injection{52, 3});
}

TEST_CASE("ignored switch: a memory of zeros before a text of Transformer-XL, and none", "[kit]") {
    const Switched model("txl_basic", nlohmann::json::object());
    const auto opened = ModelFolder::open(model.model.string());
    const auto trace = [&](Dialect dialect) {
        return open_case_model<double>(model.model)->forward(model.segments, dialect);
    };
    const Trace official = trace(Dialect::official), hf = trace(Dialect::hf);
    const auto said = [&](const Trace& reference, const Trace& candidate, Dialect dialect) {
        const Comparison comparison = compare(reference, candidate);
        REQUIRE(comparison.first());
        CHECK(comparison.first()->name == "segment.0.positions.r");
        return diagnose({reference, candidate, opened, model.segments, dialect}, comparison, *comparison.first())
            .pattern;
    };
    CHECK(said(official, hf, Dialect::official) ==
          "shape [12, 10] instead of [5, 10]: its text begins with a memory of 7 rows of 0, as in transformers "
          "(--dialect hf)");
    CHECK(
        said(hf, official, Dialect::hf) ==
        "shape [5, 10] instead of [12, 10]: its text begins without a memory, that of the reference with 7 rows of 0, "
        "as in transformers (--dialect hf)");
    // The evidence need not say the dialect: a mistake beside a memory of zeros has its name.
    toy::ToyOptions options;
    options.hugging_face = true;
    options.injected = toy::Injection{67, 0};
    const Trace port = toy::run_toy<float>(model.model.string(), model.segments, options);
    const Comparison comparison = compare(hf, port);
    REQUIRE(comparison.first());
    const Diagnosis shift = diagnose({hf, port, opened, model.segments}, comparison, *comparison.first());
    REQUIRE(shift.named);
    CHECK(shift.named->mistake == 67);
}

TEST_CASE("ignored switch: the bias of the heads of Transformer-XL and XLNet", "[kit]") {
    const Switched txl("txl_same_length", nlohmann::json::object()),
        xlnet("hf_xlnet_order_3241", nlohmann::json::object());
    txl.check_name("segment.0.lm.logits", 52, "without its bias", {}, Dialect::official, toy::Injection{52, 3});
    xlnet.check_name("lm.logits", 52, "without its bias", {}, Dialect::hf, toy::Injection{52, 3});
}

TEST_CASE("ignored switch: no causal mask in a RoFormer that is a decoder", "[kit]") {
    Switched model("hf_roformer", {{"is_decoder", true}});
    ModelInput& input = model.segments.front();
    input.mask = IndexTensor(input.tokens.shape());
    for (Index n = 0; n < input.mask.size(); ++n) input.mask[n] = n % 5 != 1;
    model.check_name("layer.0.probs", 95, "no causal mask, although is_decoder is true");
}

TEST_CASE("buckets past the last position: the distance for the offset, where hf clamps no offset", "[kit]") {
    // Eight buckets and three positions: five tokens have offsets up to 4, each its own bucket.
    Switched model("hf_deberta_v2_short", {{"max_relative_positions", 3}});
    ModelInput& input = model.segments.front();
    input = ModelInput{};
    input.tokens = IndexTensor({1, 5}, {3, 7, 11, 5, 2});
    model.check_name("relative.index", 12, "centre k + |i - j|", {}, Dialect::hf, toy::Injection{12, 0});
}

}  // namespace locus::test::test_ignored_switches

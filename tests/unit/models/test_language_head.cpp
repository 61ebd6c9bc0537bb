// The masked-word head's output layer: the word table, or a layer of the head's own where the model says so.
#include "core/models/language_head.h"
#include "core/training/masked_words.h"
#include "tests/changed_model.h"
#include "tests/max_abs.h"

namespace locus::test::test_language_head {

namespace {

constexpr const char* kOwn = "cls.predictions.decoder";

/// A recorded pass of transformers on a model whose head is called cls.predictions, with more tensors in its file.
struct Untied {
    TemporaryFolder folder;
    std::vector<ModelInput> segments;
    fs::path model = folder / "model";

    Untied(const char* name, bool tied, bool with_bias)
        : segments(read_segments(kOracle / name / "inputs.safetensors", kOracle / name / "trace.safetensors")) {
        const TensorFile file = open_safetensors(kOracle / name / "model" / "model.safetensors");
        const Index words = file.find("cls.predictions.bias")->shape[0];
        const Index width = file.find("cls.predictions.transform.LayerNorm.bias")->shape[0];
        std::vector<std::pair<std::string, Shape>> more = {{std::string(kOwn) + ".weight", {words, width}}};
        if (with_bias) more.push_back({std::string(kOwn) + ".bias", {words}});
        copy_changed(kOracle / name / "model", model, {{"tie_word_embeddings", tied}}, more);
    }

    Trace trace() const { return open_case_model<double>(model)->forward(segments, Dialect::hf); }
    Tensor<double> logits() const { return trace().at("mlm.logits").as<double>(); }
};

/// mlm.transform times the table, and the bias, by the names of the file; all sums written out.
Tensor<double> logits_by(const Untied& made, const Trace& trace, const std::string& table, const std::string& bias) {
    const TensorFile file = open_safetensors(made.model / "model.safetensors");
    const auto weights = read_tensor<float>(*file.find(table)), offsets = read_tensor<float>(*file.find(bias));
    const Tensor<double> x = trace.at("mlm.transform").as<double>();
    Tensor<double> logits({x.extent(0), x.extent(1), weights.extent(0)});
    for (Index row = 0; row < x.extent(0) * x.extent(1); ++row)
        for (Index word = 0; word < weights.extent(0); ++word) {
            double sum = offsets[word];
            for (Index c = 0; c < x.extent(2); ++c)
                sum += x[row * x.extent(2) + c] * static_cast<double>(weights[word * x.extent(2) + c]);
            logits[row * weights.extent(0) + word] = sum;
        }
    return logits;
}

double difference(const Tensor<double>& a, const Tensor<double>& b) {
    REQUIRE(a.shape() == b.shape());
    return max_abs(a.rows() - b.rows());
}

}  // namespace

TEST_CASE("masked-word head: an output layer of its own is used where config.json does not tie it", "[models]") {
    for (const auto& [name, words] : std::vector<std::pair<const char*, const char*>>{
             {"hf_deberta_v2_short", "deberta.embeddings.word_embeddings.weight"},
             {"hf_deberta_v1_long", "deberta.embeddings.word_embeddings.weight"},
             {"hf_roformer", "roformer.embeddings.word_embeddings.weight"}}) {
        INFO(name);
        const std::string own = std::string(kOwn) + ".weight", own_bias = std::string(kOwn) + ".bias";
        const Untied untied(name, false, true), tied(name, true, true), without_bias(name, false, false);
        const Trace trace = untied.trace();
        const Tensor<double> logits = trace.at("mlm.logits").as<double>();
        CHECK(difference(logits, logits_by(untied, trace, own, own_bias)) < 1e-12);
        CHECK(difference(logits, logits_by(untied, trace, words, "cls.predictions.bias")) > 0.1);
        CHECK(difference(without_bias.logits(), logits_by(untied, trace, own, "cls.predictions.bias")) < 1e-12);
        CHECK(difference(tied.logits(), logits_by(untied, trace, words, "cls.predictions.bias")) < 1e-12);
    }
}

TEST_CASE("masked-word head: an output layer of its own of another shape is refused when the model is opened",
          "[models][bad]") {
    for (const char* name : {"hf_deberta_v2_short", "hf_roformer"})
        for (const auto& [tensor, shape] :
             std::vector<std::pair<const char*, Shape>>{{".weight", {29, 5}}, {".bias", {28}}}) {
            const TemporaryFolder folder;
            const Index width = std::string(name) == "hf_roformer" ? 24 : 12;
            std::vector<std::pair<std::string, Shape>> more = {{std::string(kOwn) + tensor, shape}};
            if (more[0].first.ends_with("bias")) more.push_back({std::string(kOwn) + ".weight", {29, width}});
            copy_changed(kOracle / name / "model", folder / "model", {{"tie_word_embeddings", false}}, more);
            const std::string sentence = refusal([&] { open_case_model<double>(folder / "model"); });
            INFO(sentence);
            CHECK(sentence.find(std::string(kOwn) + tensor + " has shape " + to_string(shape) + ", expected") !=
                  std::string::npos);
        }
}

TEST_CASE("masked-word head: gradients of an output layer of its own are refused", "[models][bad]") {
    Untied untied("hf_deberta_v2_short", false, false);
    untied.segments[0].labels = untied.segments[0].tokens;
    const auto sentence = refusal(
        [&] {
            const Checkpoint checkpoint = open_checkpoint(untied.model);
            const DebertaConfig config = parse_deberta_config(checkpoint.config_json, "config.json");
            gradient_trace<double>(config, checkpoint.weights, untied.segments[0], DebertaOptions::of(Dialect::hf),
                                   StageFilter{});
        },
        Fault::unsupported);
    INFO(sentence);
    CHECK(sentence.find("an output matrix of its own (cls.predictions.decoder.weight), expected the word table") !=
          std::string::npos);
}

}  // namespace locus::test::test_language_head

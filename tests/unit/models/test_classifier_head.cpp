// Fine-tuned heads: which tensors make one, what config.json says of it, and what is refused.
#include "core/models/classifier_head.h"
#include "core/models/layers.h"
#include "tests/changed_model.h"
#include "tests/max_abs.h"

namespace locus::test::test_classifier_head {

using nlohmann::json;

namespace {

const fs::path kText = kOracle / "hf_deberta_v2_text_classes" / "model";
const fs::path kXlnet = kOracle / "hf_xlnet_text_classes" / "model";

/// The stages of a classifier, of a model with other fields in config.json.
struct Classified {
    Matrix<double> hidden;  // [B*T,D]
    Tensor<double> pooled, logits;
};

ModelInput inputs_of(const fs::path& model) {
    return read_segments(model.parent_path() / "inputs.safetensors", model.parent_path() / "trace.safetensors").front();
}

std::unique_ptr<Model<double>> open_with(const fs::path& model, const json& fields) {
    const Checkpoint checkpoint = open_checkpoint(model);
    json config = json::parse(checkpoint.config_json);
    config.update(fields);
    return open_model<double>(config.dump(), "config.json", checkpoint.weights);
}

Classified classified(const fs::path& model, const json& fields) {
    const Trace trace = open_with(model, fields)->forward({inputs_of(model)}, Dialect::hf);
    return {trace.at("layer.1.output").as<double>().rows(), trace.at("classifier.pooled").as<double>(),
            trace.at("classifier.logits").as<double>()};
}

Matrix<double> dense_of(const fs::path& model, const std::string& name, const Matrix<double>& x) {
    const WeightReader<double> weights(open_checkpoint(model).weights);
    const Shape shape = *weights.shape(name + ".weight");
    return dense<double>(x, weights.dense(name, shape[0], shape[1]));
}

/// Rows `at` of both samples, seven tokens each.
Matrix<double> rows(const Matrix<double>& hidden, Index at) {
    Matrix<double> two(2, hidden.cols());
    two << hidden.row(at), hidden.row(7 + at);
    return two;
}

void check_equal(const Tensor<double>& found, const Matrix<double>& expected) {
    REQUIRE(found.shape() == Shape{expected.rows(), expected.cols()});
    CHECK(max_abs(found.rows() - expected) <= 1e-13);
}

std::vector<std::string> classifier_stages(const Model<double>& model, const ModelInput& input) {
    std::vector<std::string> names = model.stage_names({input}, Dialect::reference);
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("classifier."); });
    return names;
}

}  // namespace

TEST_CASE("classifier: DeBERTa pools the first token through pooler_hidden_act", "[models][classifier]") {
    for (const auto& [name, activation] : {std::pair<const char*, Activation>{"gelu", Activation::gelu},
                                           {"tanh", Activation::tanh},
                                           {"relu", Activation::relu}}) {
        INFO(name);
        const Classified found = classified(kText, {{"pooler_hidden_act", name}});
        const Matrix<double> inner = dense_of(kText, "pooler.dense", rows(found.hidden, 0));
        check_equal(found.pooled, activate<double>(inner, activation));
        check_equal(found.logits, dense_of(kText, "classifier", found.pooled.rows()));
    }
}

TEST_CASE("classifier: XLNet pools as summary_type, summary_use_proj and summary_activation say",
          "[models][classifier]") {
    const char* summary = "sequence_summary.summary";
    const auto projected = [&](const Matrix<double>& x) { return dense_of(kXlnet, summary, x); };
    Classified found = classified(kXlnet, json::object());
    check_equal(found.pooled, projected(rows(found.hidden, 6)).array().tanh());
    found = classified(kXlnet, {{"summary_type", "first"}, {"summary_activation", nullptr}});
    check_equal(found.pooled, projected(rows(found.hidden, 0)));
    found = classified(kXlnet, {{"summary_type", "mean"}, {"summary_activation", "gelu"}});
    Matrix<double> means(2, found.hidden.cols());
    means << found.hidden.topRows(7).colwise().mean(), found.hidden.bottomRows(7).colwise().mean();
    check_equal(found.pooled, activate<double>(projected(means), Activation::gelu));
    found = classified(kXlnet, {{"summary_use_proj", false}});
    check_equal(found.pooled, rows(found.hidden, 6).array().tanh());
}

TEST_CASE("classifier: a file that cannot be computed is refused in one sentence", "[models][classifier][bad]") {
    const auto refused = [](const fs::path& model, const json& fields) {
        return refusal([&] { open_with(model, fields); }, Fault::unsupported);
    };
    CHECK(refused(kXlnet, {{"summary_type", "attn"}}) ==
          "config.json: summary_type is \"attn\", expected first, last or mean: the row before logits_proj");
    CHECK(refused(kXlnet, {{"summary_activation", "mish"}}).starts_with("config.json: summary_activation is \"mish\""));
    CHECK(refused(kText, {{"pooler_hidden_act", "mish"}}) ==
          "config.json: pooler_hidden_act is \"mish\", expected gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu or "
          "tanh: the activation before classifier");
    // Nobody looks at the pooler's activation where there is none.
    const fs::path masked_words = kOracle / "hf_deberta_v2_short" / "model";
    CHECK_NOTHROW(open_with(masked_words, {{"pooler_hidden_act", "mish"}}));
}

TEST_CASE("classifier: which tensors make a head, and which are somebody's own", "[models][classifier]") {
    const fs::path from = kOracle / "hf_deberta_v2_short" / "model";
    const TemporaryFolder folder;
    const auto stages = [&](const char* name, const std::vector<std::pair<std::string, Shape>>& tensors) {
        copy_changed(from, folder / name, json::object(), tensors);
        return classifier_stages(*open_with(folder / name, json::object()), inputs_of(from));
    };
    using Names = std::vector<std::string>;
    CHECK(stages("none", {}) == Names{});
    CHECK(stages("answers", {{"qa_outputs.weight", {2, 12}}, {"qa_outputs.bias", {2}}}) ==
          Names{"classifier.token_logits"});
    // A pooler of another width than the model's is transformers', too: pooler_hidden_size.
    CHECK(stages("narrow", {{"pooler.dense.weight", {5, 12}},
                            {"pooler.dense.bias", {5}},
                            {"classifier.weight", {1, 5}},
                            {"classifier.bias", {1}}}) == Names{"classifier.pooled", "classifier.logits"});
    CHECK(stages("pooler_alone", {{"pooler.dense.weight", {12, 12}}, {"pooler.dense.bias", {12}}}) == Names{});
    CHECK(stages("wide", {{"classifier.weight", {3, 24}}, {"classifier.bias", {3}}}) == Names{});
    CHECK(stages("vector", {{"classifier.weight", {12}}}) == Names{});
    CHECK(stages("no_bias", {{"classifier.weight", {3, 12}}}) == Names{});
    CHECK(stages("other_bias", {{"classifier.weight", {3, 12}}, {"classifier.bias", {4}}}) == Names{});
    CHECK(stages("one_class", {{"classifier.weight", {1, 12}}, {"classifier.bias", {1}}}) == Names{});
}

}  // namespace locus::test::test_classifier_head

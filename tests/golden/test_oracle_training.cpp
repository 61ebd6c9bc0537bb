// The gradient of every parameter of a whole model, against torch's autograd of microsoft/DeBERTa.
#include "core/models/deberta_config.h"
#include "core/models/deberta_weights.h"
#include "core/training/masked_words.h"
#include "core/training/parameters.h"
#include "core/training/replaced_tokens.h"
#include "core/training/sift.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_oracle_training {

namespace {

/// A recorded case opened for training.
struct TrainedCase {
    explicit TrainedCase(const std::string& name, const std::string& file = "trace.safetensors")
        : folder(kOracle / name),
          checkpoint(open_checkpoint(folder / "model")),
          config(parse_deberta_config(checkpoint.config_json, "config.json")),
          values(read_parameters<double>(masked_language_tensors(config, true), *checkpoint.weights)),
          reference(read_trace(folder / file)),
          input(read_segments(folder / "inputs.safetensors", folder / "trace.safetensors").front()) {}
    fs::path folder;
    Checkpoint checkpoint;
    DebertaConfig config;
    Parameters<double> values;
    Trace reference;
    ModelInput input;
};

/// "grad.deberta.encoder.x" and "grad.lm_predictions.x" as our parameters call them.
std::string parameter_of(const std::string& stage) {
    const std::string name = stage.substr(5);
    return name.starts_with("deberta.") ? name.substr(8) : name;
}

/// A stage of the recording beside rows of ours.
void check_rows(const Trace& reference, const std::string& name, const Matrix<double>& rows, double tolerance) {
    INFO(name);
    const Stage& stage = reference.at(name);
    REQUIRE(stage.size() == rows.size());
    Tensor<double> values(stage.shape());
    std::copy_n(rows.data(), rows.size(), values.data());
    Stage ours = stage;
    ours.values = values;
    CHECK(deviation(stage, ours) <= tolerance);
}

Matrix<double> as_column(const std::vector<double>& values) {
    return Eigen::Map<const Matrix<double>>(values.data(), static_cast<Index>(values.size()), 1);
}

/// Every recorded gradient within the tolerance; returns how many there are.
std::size_t check_gradients(const Trace& reference, const Parameters<double>& found, double tolerance) {
    std::size_t compared = 0;
    for (const Stage& stage : reference.stages()) {
        if (!stage.name.starts_with("grad.")) continue;
        INFO(stage.name);
        const std::string name = parameter_of(stage.name);
        REQUIRE(found.has(name));
        const auto& entry = found.entry(name);
        REQUIRE(entry.shape == stage.shape());
        Tensor<double> values(entry.shape);
        std::copy_n(found.row(name).data(), entry.size, values.data());
        Stage ours = stage;
        ours.values = values;
        CHECK(deviation(stage, ours) <= tolerance);
        ++compared;
    }
    return compared;
}

}  // namespace

TEST_CASE("training: every gradient of a whole model is torch's", "[training][oracle]") {
    const std::string name = GENERATE("grads_deberta_model", "grads_deberta_model_conv");
    const bool checkpointing = GENERATE(false, true);
    const int threads = GENERATE(1, 3);
    INFO(name << ", checkpointing " << checkpointing << ", threads " << threads);
    const TrainedCase one(name);
    const double tolerance = read_json(one.folder / "case.json")["tolerance"];
    ThreadPool pool(threads);
    DebertaTraining<double> model(one.config, {true, checkpointing}, pool);
    Parameters<double> gradients = one.values.zeros();
    const PackedBatch batch = packed_batch(one.input);
    const double loss = mean_loss(masked_language_step<double>(model, one.values, batch, Dropout{}, gradients).losses);
    const Stage& losses = one.reference.at("mlm.loss");
    double mean = 0;
    for (Index n = 0; n < losses.size(); ++n) mean += losses.at(n) / static_cast<double>(losses.size());
    CHECK(std::abs(loss - mean) <= tolerance * std::max(1.0, mean));
    CHECK(check_gradients(one.reference, gradients, tolerance) == gradients.entries().size());
}

TEST_CASE("training: SiFT is the official code's, pass by pass", "[training][sift][oracle]") {
    const TrainedCase one("ms_sift", "trace_exact.safetensors");
    const nlohmann::json about = read_json(one.folder / "case.json");
    const double tolerance = about["tolerance_exact"];
    ThreadPool pool(2);
    DebertaTraining<double> model(one.config, {}, pool);
    Parameters<double> gradients = one.values.zeros();
    const PackedBatch batch = packed_batch(one.input);
    const Tensor<double> noise =
        read_tensor<double>(*open_safetensors(one.folder / "inputs.safetensors").find("noise"));
    const SiftSettings settings{about["probes"]["sigma"], about["probes"]["learning_rate"], 1};
    const Dropout none[3];
    const SiftTape<double> tape =
        sift_step<double>(model, one.values, batch, none, settings, noise.rows(), gradients, 0);
    CHECK_FALSE(tape.skipped);
    check_rows(one.reference, "sift.xhat", tape.xhat, tolerance);
    check_rows(one.reference, "sift.delta0", tape.delta0, tolerance);
    check_rows(one.reference, "sift.logits_clean", tape.logits_clean, tolerance);
    check_rows(one.reference, "sift.logits0", tape.logits0, tolerance);
    check_rows(one.reference, "sift.loss0", as_column(tape.losses0), tolerance);
    check_rows(one.reference, "sift.grad", tape.grad, tolerance);
    check_rows(one.reference, "sift.delta", tape.delta, tolerance);
    check_rows(one.reference, "sift.logits", tape.logits, tolerance);
    check_rows(one.reference, "sift.loss", as_column({tape.loss}), tolerance);
    CHECK(check_gradients(one.reference, gradients, tolerance) == 5);
}

TEST_CASE("training: replaced-token detection is the official code's", "[training][rtd][oracle]") {
    const fs::path folder = kOracle / "ms_rtd";
    const Trace reference = read_trace(folder / "trace_exact.safetensors");
    const double tolerance = read_json(folder / "case.json")["tolerance_exact"];
    const Checkpoint checkpoint = open_checkpoint(folder / "model");
    const DebertaConfig config = parse_deberta_config(checkpoint.config_json, "config.json");
    TensorShapes tensors = expected_deberta_tensors(config);
    for (const auto& one : detection_head_tensors(config)) tensors.push_back(one);
    const auto values = read_parameters<double>(tensors, *checkpoint.weights);
    const PackedBatch batch =
        packed_batch(read_segments(folder / "inputs.safetensors", folder / "trace_exact.safetensors").front());
    ThreadPool pool(2);
    DebertaTraining<double> model(config, {false, false}, pool);
    const DebertaTape<double> tape = model.forward(values, batch, model.embedding_sum(values, batch), Dropout{});
    check_rows(reference, "layer.1.output", *tape.output, tolerance);
    const ReplacedTokensTape<double> head = replaced_tokens_forward<double>(model, values, batch, *tape.output);
    check_rows(reference, "rtd.norm", head.norm, tolerance);
    check_rows(reference, "rtd.transform", head.act, tolerance);
    check_rows(reference, "rtd.logits", head.logits, tolerance);
    check_rows(reference, "rtd.loss", as_column(head.losses), tolerance);
    const Stage& labels = reference.at("rtd.labels");
    REQUIRE(static_cast<Index>(head.labels.size()) == labels.size());
    for (std::size_t n = 0; n < head.labels.size(); ++n)
        CHECK(head.labels[n] == static_cast<std::int64_t>(labels.at(static_cast<Index>(n))));
}

}  // namespace locus::test::test_oracle_training

// The gradient of every parameter of a whole model, against torch's autograd of microsoft/DeBERTa.
#include "core/models/deberta_config.h"
#include "core/training/deberta_parameters.h"
#include "core/training/masked_words.h"
#include "tests/oracle_cases.h"

using namespace locus;
using namespace locus::test;

namespace {

/// A recorded case opened for training.
struct TrainedCase {
    explicit TrainedCase(const std::string& name)
        : folder(kOracle / name),
          checkpoint(open_checkpoint(folder / "model")),
          config(parse_deberta_config(checkpoint.config_json, "config.json")),
          values(read_parameters<double>(masked_language_tensors(config, true), *checkpoint.weights)),
          reference(read_trace(folder / "trace.safetensors")),
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

/// Every recorded gradient within the tolerance, and no parameter without a recording.
void check_gradients(const Trace& reference, const Parameters<double>& found, double tolerance) {
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
    CHECK(compared == found.entries().size());
}

}  // namespace

TEST_CASE("training: every gradient of a whole model is torch's", "[training][oracle]") {
    const std::string name = GENERATE("grads_deberta_model", "grads_deberta_model_conv");
    const bool checkpointing = GENERATE(false, true);
    const int threads = GENERATE(1, 3);
    INFO(name << ", checkpointing " << checkpointing << ", threads " << threads);
    const TrainedCase one(name);
    const double tolerance = read_json(one.folder / "case.json")["tolerance"];
    Workers workers(threads);
    DebertaTraining<double> model(one.config, {true, checkpointing}, workers);
    Parameters<double> gradients = one.values.zeros();
    const PackedBatch batch = packed_batch(one.input);
    const double loss = masked_language_step<double>(model, one.values, batch, Dropout{}, gradients);
    const Stage& losses = one.reference.at("mlm.loss");
    double mean = 0;
    for (Index n = 0; n < losses.size(); ++n) mean += losses.at(n) / static_cast<double>(losses.size());
    CHECK(std::abs(loss - mean) <= tolerance * std::max(1.0, mean));
    check_gradients(one.reference, gradients, tolerance);
}

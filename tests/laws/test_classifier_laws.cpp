// What must hold of fine-tuned heads: padding changes no class, and what is trained is what is computed afterwards.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/models/deberta.h"
#include "core/training/classification.h"
#include "tests/max_abs.h"
#include "tests/oracle_cases.h"
#include "tests/small_training.h"

namespace locus::test::test_classifier_laws {

namespace {

/// Text of tokens 3 to 7, and the same with three tokens of padding before or behind it.
ModelInput text_of(bool xlnet, Index before, Index behind) {
    const Index length = 5 + before + behind;
    ModelInput input;
    input.tokens = IndexTensor({1, length});
    IndexTensor visible({1, length}), hidden({1, length});
    for (Index t = 0; t < length; ++t) {
        const bool is_text = t >= before && t < before + 5;
        input.tokens[t] = is_text ? 3 + t - before : 0;
        visible[t] = is_text;
        hidden[t] = !is_text;
    }
    (xlnet ? input.input_mask : input.mask) = xlnet ? hidden : visible;
    return input;
}

}  // namespace

TEST_CASE("classifier: padding on the side that is not pooled changes nothing, on the other it does",
          "[classifier][law]") {
    for (const char* name : {"hf_deberta_v2_text_classes", "hf_roformer_text_classes", "hf_xlnet_text_classes"}) {
        INFO(name);
        const auto model = open_case_model<double>(kOracle / name / "model");
        const bool xlnet = model->family() == Family::xlnet;
        const auto logits = [&](Index before, Index behind) {
            const Trace trace =
                model->forward({text_of(xlnet, before, behind)}, Dialect::reference, StageFilter("classifier.logits"));
            return Matrix<double>(trace.at("classifier.logits").as<double>().rows());
        };
        const Matrix<double> alone = logits(0, 0);
        const Matrix<double> kept = xlnet ? logits(3, 0) : logits(0, 3), other = xlnet ? logits(0, 3) : logits(3, 0);
        CHECK(max_abs(kept - alone) <= 1e-12);
        CHECK(max_abs(other - alone) > 1e-3);
    }
}

TEST_CASE("classifier: the classes of a training are those of the model that it leaves",
          "[classifier][training][law]") {
    DebertaConfig config = bucketed_config();
    config.pooler_hidden_act = GENERATE("gelu", "tanh");
    TensorShapes tensors = expected_deberta_tensors(config);
    for (const auto& each : classification_head_tensors(config, 3)) tensors.push_back(each);
    const Parameters<double> values = random_parameters<double>(tensors, 29);
    ThreadPool pool(1);
    DebertaTraining<double> training(config, {false, false}, pool);
    const PackedBatch batch = uneven_batch();
    const std::vector<std::int64_t> labels = {2, 0, 1};
    Parameters<double> ignored;
    const double loss = classification_step<double>(training, values, batch, labels, {}, ignored);
    const std::vector<std::int64_t> classes = classify<double>(training, values, batch);

    const auto weights = std::make_shared<MemoryWeights>();
    for (const auto& entry : values.entries()) {
        Matrix<double>& kept = (weights->tensors[entry.name] = {entry.shape, {}}).second;
        kept.resize(entry.shape.front(), entry.size / entry.shape.front());
        std::copy_n(values.numbers().data() + entry.first, entry.size, kept.data());
    }
    const Deberta<double> model(config, weights);
    double expected = 0;
    for (std::size_t text = 0; text < 3; ++text) {
        const Index first = batch.starts[text], length = batch.starts[text + 1] - first;
        ModelInput input;
        input.tokens = IndexTensor({1, length});
        for (Index t = 0; t < length; ++t) input.tokens[t] = batch.tokens[static_cast<std::size_t>(first + t)];
        const Trace trace = model.forward(input, {}, StageFilter("classifier.*"));
        const RowVector<double> row = trace.at("classifier.logits").as<double>().rows();
        Index best = 0;
        row.maxCoeff(&best);
        CHECK(best == classes[text]);
        expected += cross_entropy<double>(row, labels[text]) / 3;
    }
    CHECK(std::abs(loss - expected) <= 1e-12);
}

}  // namespace locus::test::test_classifier_laws

#include "core/training/trainer.h"

#include <cmath>

#include "core/models/deberta.h"
#include "core/models/deberta_weights.h"
#include "core/text/text_table.h"
#include "core/training/parameters.h"

namespace locus {

namespace {

/// Whose fresh values a stream gives.
enum Fresh : std::uint32_t { kFreshWords = 1, kFreshDetector };

std::string text(double value) { return std::to_string(value); }

DebertaConfig generator_config(DebertaConfig config, const TrainingPlan& plan) {
    if (plan.objective == Objective::replaced_tokens)
        config.num_hidden_layers = plan.generator_layers > 0
                                       ? plan.generator_layers
                                       : std::max<Index>(plan.switches.decoder ? 2 : 1, config.num_hidden_layers / 2);
    return config;
}

TrainedNetwork fresh(const DebertaConfig& config, const TensorShapes& tensors, const TrainingPlan& plan, Fresh which) {
    Parameters<float> values(tensors);
    RandomStream random(plan.seed, stream_of(RandomUse::values, 0, which));
    initialise(values, random, plan.deviation, config.pad_token_id);
    return {config, values, AdamW<float>(values, plan.optimiser)};
}

TensorShapes detector_tensors(const DebertaConfig& config) {
    TensorShapes tensors = expected_deberta_tensors(config);
    for (const auto& one : detection_head_tensors(config)) tensors.push_back(one);
    return tensors;
}

}  // namespace

void check_plan(const TrainingPlan& plan) {
    for (const auto& [name, share] : {std::pair<std::string, double>{"hidden_dropout", plan.hidden_dropout},
                                      {"attention_dropout", plan.attention_dropout}})
        LOCUS_CHECK(share >= 0 && share < 1, name + " is " + text(share) + ", expected 0 or more and below 1");
    for (const auto& [name, value] : {std::pair<std::string, double>{"rate", plan.rate},
                                      {"clip", plan.clip},
                                      {"deviation", plan.deviation},
                                      {"temperature", plan.temperature}})
        LOCUS_CHECK(value > 0 && std::isfinite(value), name + " is " + text(value) + ", expected a number above 0");
    LOCUS_CHECK(plan.steps >= 1, "steps is " + std::to_string(plan.steps) + ", expected 1 or more");
    LOCUS_CHECK(plan.warmup >= 0 && plan.warmup <= plan.steps, "warmup is " + std::to_string(plan.warmup) +
                                                                   ", expected 0 to the number of steps, " +
                                                                   std::to_string(plan.steps));
    LOCUS_CHECK(!plan.sift || plan.objective == Objective::masked_words,
                "SiFT goes with the masked-word objective alone");
    LOCUS_CHECK(plan.generator_layers >= 0,
                "generator_layers is " + std::to_string(plan.generator_layers) + ", expected 1 or more");
}

Trainer::Trainer(const DebertaConfig& config, TrainingPlan plan, ThreadPool& pool)
    : plan_((check_plan(plan), std::move(plan))),
      pool_(pool),
      words_(fresh(generator_config(config, plan_),
                   masked_language_tensors(generator_config(config, plan_), plan_.switches.decoder), plan_,
                   kFreshWords)),
      word_model_(words_.config, plan_.switches, pool),
      gradients_(words_.values.zeros()) {
    if (plan_.objective != Objective::replaced_tokens) return;
    detector_ = fresh(config, detector_tensors(config), plan_, kFreshDetector);
    // The deltas start at 0: both see the same tables at first.  Source: microsoft/DeBERTa rtd_task.py, where
    // position_bias begins as zeros like word_bias.
    for (const char* table : {kWordTable, kAbsoluteTable})
        if (plan_.sharing != EmbeddingSharing::none && detector_->values.has(table) && words_.values.has(table))
            detector_->values.row(table).setZero();
    detector_model_.emplace(config, TrainingSwitches{false, plan_.switches.checkpointing, plan_.switches.engine}, pool);
    detector_gradients_ = detector_->values.zeros();
}

void Trainer::set_steps(Index steps) {
    TrainingPlan changed = plan_;
    changed.steps = steps;
    changed.warmup = std::min(changed.warmup, steps);
    check_plan(changed);
    plan_.steps = steps;  // the warm-up that was wished for stays, in case that the run becomes longer again
}

double Trainer::rate() const {
    const Index longest = plan_.warmup_follows ? plan_.steps / 10 : plan_.steps;
    return learning_rate(plan_.rate, step_, std::min(plan_.warmup, longest), plan_.steps);
}

Dropout Trainer::dropout(std::uint64_t pass) const {
    const auto step = static_cast<std::uint32_t>(step_);
    const TwoNumbers mixed = philox({step, static_cast<std::uint32_t>(plan_.seed)},
                                    static_cast<std::uint32_t>(plan_.seed >> 32) ^ static_cast<std::uint32_t>(pass));
    return {std::uint64_t{mixed.first} << 32 | mixed.second, plan_.hidden_dropout, plan_.attention_dropout};
}

Parameters<float> Trainer::detector_values() const {
    LOCUS_CHECK(detector_, "this run has no discriminator");
    return discriminator_values(words_.values, detector_->values, plan_.sharing);
}

void Trainer::masked_words_step(const PackedBatch& batch, StepReport& report) {
    drawn_from_ = masked_language_step<float>(word_model_, words_.values, batch, dropout(0), gradients_);
    report.loss = mean_loss(drawn_from_.losses);
}

void Trainer::sift_masked_words_step(const PackedBatch& batch, StepReport& report) {
    RandomStream random(plan_.seed, stream_of(RandomUse::noise, static_cast<std::uint64_t>(step_)));
    Matrix<float> noise(batch.rows(), words_.config.hidden_size);
    for (Index n = 0; n < noise.size(); ++n)
        noise.data()[n] = static_cast<float>(plan_.sift->deviation * random.gaussian());
    const Dropout passes[3] = {dropout(0), dropout(1), dropout(2)};
    const SiftTape<float> tape =
        sift_step<float>(word_model_, words_.values, batch, passes, *plan_.sift, noise, gradients_);
    report.loss = tape.task;
    report.sift = tape.loss;
}

void Trainer::detection(const PackedBatch& batch, StepReport& report) {
    RandomStream random(plan_.seed, stream_of(RandomUse::replacements, static_cast<std::uint64_t>(step_)));
    const PackedBatch replaced = replace_tokens<float>(batch, drawn_from_, plan_.temperature, random);
    detector_gradients_.numbers().setZero();
    report.detection = detection_step<float>(*detector_model_, detector_values(), replaced, dropout(3),
                                             static_cast<float>(plan_.detection_weight), detector_gradients_);
    share_gradients(detector_gradients_, gradients_, plan_.sharing);
}

void Trainer::check_numbers(const StepReport& report, const PackedBatch& batch, const Parameters<float>& gradients) {
    if (std::isfinite(report.loss) && std::isfinite(report.detection) && std::isfinite(report.sift) &&
        std::isfinite(gradient_norm(gradients)))
        return;
    const std::string stage = first_unusual_stage(words_.config, words_.values, plan_.switches.decoder, batch);
    if (!stage.empty())
        throw_unusual(report.step, "the loss is not a number; the first stage that went wrong is " + stage);
    for (const auto& one : gradients.entries())
        if (!gradients.row(one.name).allFinite())
            throw_unusual(report.step, "a gradient is not a number; the first one that went wrong is grad." + one.name);
    throw_unusual(report.step, "the loss of the objective beside the masked words is not a number");
}

void Trainer::throw_unusual(Index step, const std::string& what) const {
    throw Error(Fault::unsupported, "step " + std::to_string(step) + ": " + what + ", expected a lower rate than " +
                                        format_number(plan_.rate));
}

void Trainer::throw_no_number(const std::string& what) const {
    throw_unusual(step_, what + " is not a number any more");
}

void Trainer::check_weights() {
    const auto check = [&](const Parameters<float>& values) {
        for (const auto& one : values.entries())
            if (!values.row(one.name).allFinite()) throw_no_number(one.name);
    };
    check(words_.values);
    if (detector_) check(detector_->values);
}

void Trainer::move(TrainedNetwork& network, Parameters<float>& gradients, double& norm) {
    norm = clip_gradients(gradients, plan_.clip);
    network.optimiser.step(network.values, gradients, rate(), pool_);
}

StepReport Trainer::step(const PackedBatch& batch) {
    check_batch(batch, words_.config.vocab_size);
    StepReport report;
    report.step = step_ + 1;
    report.tokens = batch.rows();
    for (const std::int64_t label : batch.labels) report.targets += label > 0;
    report.rate = rate();
    gradients_.numbers().setZero();
    if (plan_.sift)
        sift_masked_words_step(batch, report);
    else
        masked_words_step(batch, report);
    if (detector_) detection(batch, report);
    check_numbers(report, batch, gradients_);
    if (detector_) check_numbers(report, batch, detector_gradients_);
    move(words_, gradients_, report.gradient_norm);
    double of_detector = 0;
    if (detector_) move(*detector_, detector_gradients_, of_detector);
    ++step_;
    return report;
}

double Trainer::evaluate(const PackedBatch& batch) {
    return mean_loss(masked_language_losses<float>(word_model_, words_.values, batch));
}

std::string first_unusual_stage(const DebertaConfig& config, const Parameters<float>& values, bool decoder,
                                const PackedBatch& batch) {
    const Deberta<float> model(config, weights_of<float>(std::make_shared<Parameters<float>>(values), "the model"));
    DebertaOptions options;
    if (!decoder) options.decoder = MaskDecoder::none;
    for (Index b = 0; b < batch.sentences(); ++b) {
        const auto first = batch.tokens.begin() + batch.starts[static_cast<std::size_t>(b)];
        ModelInput input;
        input.tokens = IndexTensor({1, batch.length(b)}, std::vector<std::int64_t>(first, first + batch.length(b)));
        const Trace trace = model.forward(input, options);
        for (const Stage& stage : trace.stages())
            if (const auto* numbers = std::get_if<Tensor<float>>(&stage.values))
                if (!numbers->rows().allFinite()) return stage.name;
    }
    return "";
}

}  // namespace locus

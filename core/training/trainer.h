#pragma once
// A model on its way: parameters, optimiser and the step that moves them.  Everything random is a function of (seed,
// step), so a run that was saved and goes on makes the same numbers as one that was never stopped.
#include <optional>

#include "core/training/adamw.h"
#include "core/training/corpus_batches.h"
#include "core/training/replaced_tokens.h"
#include "core/training/sift.h"

namespace locus {

enum class Objective {
    masked_words,     // masked language modelling
    replaced_tokens,  // a generator's masked words and a discriminator's replaced tokens, two optimisers
};

/// How a model is trained.  Defaults suit a small model on a small corpus.
struct TrainingPlan {
    Objective objective = Objective::masked_words;
    TrainingSwitches switches;         // decoder and checkpointing, of the model that predicts words
    std::optional<SiftSettings> sift;  // masked words alone
    double hidden_dropout = 0.1, attention_dropout = 0.1;
    Index steps = 1000, warmup = 100;
    bool warmup_follows = false;  // the warm-up is a tenth of the steps, however many they become, and at most `warmup`
    double rate = 1e-3, clip = 1;
    AdamWSettings optimiser;
    double deviation = 0.02;  // of fresh weights
    std::uint64_t seed = 1;
    Index generator_layers = 0;    // replaced tokens: of the generator; 0: half of the discriminator's
    double detection_weight = 50;  // lambda; 10 in the official code, 50 in the paper
    double temperature = 1;        // of the generator's draws
    EmbeddingSharing sharing = EmbeddingSharing::gdes;
};

/// Throws Error(usage) that names the field: shares below 1, positive rate, clip, steps and temperature, warm-up within
/// the steps, SiFT with masked words alone.
void check_plan(const TrainingPlan& plan);

/// What one step did.
struct StepReport {
    Index step = 0;            // 1 is the first
    double loss = 0;           // masked words: mean over the targets
    double detection = 0;      // replaced tokens: the discriminator's mean; 0 otherwise
    double sift = 0;           // mean symmetric loss; 0 otherwise
    double gradient_norm = 0;  // before clipping, of the model that predicts words
    double rate = 0;
    Index tokens = 0, targets = 0;
};

/// One network with its optimiser.
struct TrainedNetwork {
    DebertaConfig config;
    Parameters<float> values;
    AdamW<float> optimiser;
};

class Trainer {
public:
    /// Fresh weights.  config is the whole model's; with replaced tokens that is the discriminator's, and the generator
    /// has fewer layers.  Throws Error(usage) like check_plan, Error(unsupported) like DebertaTraining.
    Trainer(const DebertaConfig& config, TrainingPlan plan, ThreadPool& pool);

    /// One step on a masked batch: batch.labels hold the targets.  Throws Error(unsupported) that names the first stage
    /// or gradient that is not a number any more; the parameters are then still those of before.
    StepReport step(const PackedBatch& batch);
    /// Mean masked-word loss without dropout.
    double evaluate(const PackedBatch& batch);

    Index steps() const { return step_; }
    const TrainingPlan& plan() const { return plan_; }
    /// Throws Error(unsupported) that names the first tensor that holds what is not a number.
    void check_weights();
    /// Throws Error(unsupported): `what` is not a number any more after the steps that were made.
    [[noreturn]] void throw_no_number(const std::string& what) const;
    /// Changes how long the run is, and with it the learning rates still to come: a run of fewer steps than its warm-up
    /// ends at the peak.
    void set_steps(Index steps);
    /// The model that predicts words (the generator), and the one that detects replaced tokens.
    TrainedNetwork& words() { return words_; }
    std::optional<TrainedNetwork>& detector() { return detector_; }
    /// What the detector sees: with shared tables, those are put together here.
    Parameters<float> detector_values() const;
    /// Goes on after so many steps; values and moments are set through words() and detector().
    void restore(Index steps) { step_ = steps; }

private:
    Dropout dropout(std::uint64_t pass) const;
    void masked_words_step(const PackedBatch& batch, StepReport& report);
    void sift_masked_words_step(const PackedBatch& batch, StepReport& report);
    void detection(const PackedBatch& batch, StepReport& report);
    double rate() const;
    void check_numbers(const StepReport& report, const PackedBatch& batch, const Parameters<float>& gradients);
    [[noreturn]] void throw_unusual(Index step, const std::string& what) const;
    void move(TrainedNetwork& network, Parameters<float>& gradients, double& norm);

    TrainingPlan plan_;
    ThreadPool& pool_;
    TrainedNetwork words_;
    std::optional<TrainedNetwork> detector_;
    DebertaTraining<float> word_model_;
    std::optional<DebertaTraining<float>> detector_model_;
    Parameters<float> gradients_, detector_gradients_;
    MaskedWordsTape<float> drawn_from_;
    Index step_ = 0;
};

/// The first stage of a forward pass that holds NaN or infinity, in model order; empty if none does.  Runs the
/// reference pass sentence by sentence on these parameters.
std::string first_unusual_stage(const DebertaConfig& config, const Parameters<float>& values, bool decoder,
                                const PackedBatch& batch);

}  // namespace locus

#pragma once
// A run from a text file to a trained model: vocabulary, sentences, batches and the trainer, held together.
#include <filesystem>
#include <memory>
#include <string>

#include "core/text/corpus/vocabulary_training.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/training/corpus_batches.h"
#include "core/training/trainer.h"

namespace locus {

/// What is trained on what.
struct TrainingTask {
    std::filesystem::path corpus;
    DebertaConfig config;  // vocab_size and pad_token_id are set from the vocabulary
    TrainingPlan plan;
    Index pieces = 0;  // of the vocabulary; 0: as many as the text gives
    Index batch_tokens = 1024;
    double heldout = 0.02;  // share of the sentences, to judge by
    MaskingRules masking;   // replaced tokens take the generator's instead
};

/// The shape a small corpus is learnt with: 3 layers, D 128, 4 heads of 32, F 512, 16 buckets.
DebertaConfig small_training_config();

class TrainingRun {
public:
    /// Reads the corpus, learns its vocabulary, makes fresh weights.  `folder` holds the tokenizer's files while they
    /// are opened; they stay there.  Throws what train_vocabulary, read_token_sentences and Trainer throw.
    TrainingRun(TrainingTask task, const std::filesystem::path& folder, ThreadPool& pool);
    TrainingRun(const TrainingRun&) = delete;
    TrainingRun& operator=(const TrainingRun&) = delete;

    StepReport step() { return trainer_->step(batches_->next()); }
    /// Mean masked-word loss of the sentences held out, the same masks every time.  NaN if none are.
    double heldout_loss();
    bool has_heldout() const { return !judged_by_.empty(); }

    Trainer& trainer() { return *trainer_; }
    BatchReader& batches() { return *batches_; }
    const Tokenizer& tokenizer() const { return *tokenizer_; }
    const TrainedVocabulary& vocabulary() const { return vocabulary_; }
    const TrainingTask& task() const { return task_; }
    Index sentences() const { return sentences_.count(); }
    Index longest() const { return longest_; }
    /// Sentences that begin in the middle of a line that was too long.
    Index cuts() const { return sentences_.cuts(); }

private:
    TrainingTask task_;
    TrainedVocabulary vocabulary_;
    std::unique_ptr<Tokenizer> tokenizer_;
    MaskingVocabulary masking_;
    TokenSentences sentences_;
    CorpusSplit split_;
    Index longest_ = 0;
    std::unique_ptr<BatchReader> batches_;
    std::vector<PackedBatch> judged_by_;
    std::unique_ptr<Trainer> trainer_;
};

/// The loss on sentences held out, NaN where there are none.  Throws Error(unsupported) that names the first tensor
/// that holds what is not a number, or that loss: a step may leave weights that only the next one would see.
double checked_heldout_loss(TrainingRun& run);

// A training on disk: the model as it is now, and all that is needed to go on with it as if it had never stopped.

/// What is in a folder beside the model.
inline constexpr const char* kTrainingState = "training_state.safetensors";

/// Does the folder hold a training that can be resumed?
bool holds_training(const std::filesystem::path& folder);

/// What the training in a folder learns by: every setting that a command can name, except for the corpus, which is
/// empty.  Throws Error(unreadable) if there is none or its description is damaged.
TrainingTask saved_task(const std::filesystem::path& folder);

/// The same of the text that a state holds in its metadata under "training"; `file` is named in what is thrown.
TrainingTask parse_saved_task(const std::string& text, const std::filesystem::path& file);

class TrainingFolder {
public:
    /// The run is referred to.  Reads the corpus once, to know it again.
    TrainingFolder(std::filesystem::path folder, TrainingRun& run);

    /// Writes the model and the training's state as one; what was there is replaced as a whole or stays, as
    /// write_atomic_folder() says.  With replaced tokens the model is the discriminator, and the generator is in a
    /// folder inside: resume() reads the outer state alone.
    void save(const std::string& readme);

    /// Puts the run where the folder's training stands, to the last bit.  The number of steps, which decides the
    /// learning rates to come, is taken over too.
    /// Throws Error(unreadable) if there is none or it is damaged, and Error(usage) naming the first setting that was
    /// another one: the model's shape, the corpus, the plan.
    void resume();

private:
    std::string setting_;  // JSON: what must be the same for the numbers to be the same
    std::filesystem::path folder_;
    TrainingRun& run_;
};

}  // namespace locus

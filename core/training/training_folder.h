#pragma once
// A training on disk: the model as it is now, and all that is needed to go on with it as if it had never stopped.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/training/training_run.h"

namespace locus {

/// What is in a folder beside the model.
inline constexpr const char* kTrainingState = "training_state.safetensors";

/// Does the folder hold a training that can be resumed?
bool holds_training(const std::filesystem::path& folder);

class TrainingFolder {
public:
    /// The run is referred to.  Reads the corpus once, to know it again.
    TrainingFolder(std::filesystem::path folder, TrainingRun& run);

    /// Writes the model and the training's state as one; what was there is replaced as a whole or stays, as
    /// write_atomic_folder() says.  With replaced tokens the model is the discriminator, and behind it the generator
    /// is written for itself into a folder inside: resume() reads the outer state alone.
    void save(const std::string& readme);

    /// Puts the run where the folder's training stands, to the last bit.  The number of steps, which decides the
    /// learning rates to come, is taken over too.
    /// Throws Error(unreadable) if there is none or it is damaged, and Error(usage) naming the first setting that was
    /// another one: the model's shape, the corpus, the plan.
    void resume();

private:
    nlohmann::ordered_json setting_;  // what must be the same for the numbers to be the same
    std::filesystem::path folder_;
    TrainingRun& run_;
};

}  // namespace locus

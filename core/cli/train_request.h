#pragma once
// From options to what is trained on what.
#include <string>

#include "core/training/training_run.h"

namespace locus::cli {

class Command;

struct TrainRequest {
    std::string corpus = "positions", out, objective = "mlm", config, device = "cpu";
    Index steps = 0, pieces = 0, batch_tokens = 1024, warmup = -1, max_gram = 1, save_every = 0, seeds = 3;
    double minutes = 0, rate = 1e-3, heldout = 0.02, dropout = -1;
    std::uint64_t seed = 1;
    int threads = 0;  // 0: one for each core
    bool sift = false, no_emd = false, low_memory = false, resume = false, json = false, ablate = false;
};

void add_train_options(Command& program, TrainRequest& request);

/// Of a training that goes on, what `program` was not given is as it was.
/// Throws Error(usage) or Error(unreadable) that names the option or the file.
TrainingTask task_of(const Command& program, const TrainRequest& request);

/// A new folder, an empty one, or one with a training that is to be resumed.  Throws Error(usage) otherwise.
void check_out(const TrainRequest& request);

}  // namespace locus::cli

#pragma once
// locus train --ablate: the same training with one term left out, as a table.
#include "core/cli/train_request.h"
#include "core/training/ablation.h"

namespace locus::cli {

/// The table, and what it says and does not say; one paragraph a line of the result.
std::string ablation_text(const std::vector<AblationRow>& rows, const TrainingTask& task);

/// Trains and prints.  `stopped` is asked after every step.  Returns the exit status.
int train_ablation(const TrainingTask& task, const TrainRequest& request, const std::filesystem::path& scratch,
                   ThreadPool& pool, const std::function<bool()>& stopped);

}  // namespace locus::cli

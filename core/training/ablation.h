#pragma once
// What each term is worth: the same training with one of them left out.  The ablation study of He et al. 2021, in
// miniature.
#include <functional>
#include <string>
#include <vector>

#include "core/training/training_run.h"

namespace locus {

/// One model of the table.
struct AblatedModel {
    std::string name;  // "without c2p"
    bool c2p = true, p2c = true, decoder = true;
};

/// All terms; without the mask decoder; without c2p; without p2c; without both position terms.
const std::vector<AblatedModel>& ablated_models();

/// The task of one of them: same corpus, same steps, same batches, another model.
TrainingTask ablated_task(TrainingTask task, const AblatedModel& model, std::uint64_t seed);

/// The held-out masked-word losses of one model, one for each seed.
struct AblationRow {
    AblatedModel model;
    std::vector<double> losses;

    double mean() const;
    /// Standard deviation over the seeds (n - 1); 0 for one seed.
    double spread() const;
};

/// True if two means lie further apart than the spread of their seeds explains: by more than twice the standard error
/// of their difference.  Never for a single seed.
bool differ_clearly(const AblationRow& a, const AblationRow& b);

/// What is running: which model and seed, and the step that was just made.
struct AblationMoment {
    const AblatedModel& model;
    std::uint64_t seed;
    std::size_t run, runs;  // 0 is the first
    const StepReport& step;
};

/// Trains every model with every seed, seed by seed, for task.plan.steps steps.  `folder` holds tokenizer files in
/// between.  `watch` is called after every step; the run ends early, with the rows so far, where it returns false.
/// Throws what TrainingRun throws, and Error(usage) for no seeds, a task without held-out sentences, and a
/// configuration that has not both position terms and the decoder to begin with; Error(unsupported) that names the
/// model and the seed for one that holds what is not a number.
std::vector<AblationRow> ablate(const TrainingTask& task, const std::vector<std::uint64_t>& seeds,
                                const std::filesystem::path& folder, ThreadPool& pool,
                                const std::function<bool(const AblationMoment&)>& watch);

}  // namespace locus

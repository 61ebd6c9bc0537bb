#include "core/training/ablation.h"

#include <cmath>

#include "core/io/input_file.h"
#include "core/text/text_table.h"
#include "core/training/masked_words.h"

namespace locus {

const std::vector<AblatedModel>& ablated_models() {
    static const std::vector<AblatedModel> models = {{"all terms", true, true, true},
                                                     {"without the mask decoder", true, true, false},
                                                     {"without c2p", false, true, true},
                                                     {"without p2c", true, false, true},
                                                     {"without c2p and p2c", false, false, true}};
    return models;
}

TrainingTask ablated_task(TrainingTask task, const AblatedModel& model, std::uint64_t seed) {
    task.config.terms.c2p = model.c2p;
    task.config.terms.p2c = model.p2c;
    task.plan.switches.decoder = model.decoder;
    task.plan.seed = seed;
    return task;
}

double AblationRow::mean() const { return mean_loss(losses); }

double AblationRow::spread() const {
    if (losses.size() < 2) return 0;
    double squares = 0;
    for (const double loss : losses) squares += (loss - mean()) * (loss - mean());
    return std::sqrt(squares / static_cast<double>(losses.size() - 1));
}

bool differ_clearly(const AblationRow& a, const AblationRow& b) {
    if (a.losses.size() < 2 || b.losses.size() < 2) return false;
    const double error = std::sqrt(a.spread() * a.spread() / static_cast<double>(a.losses.size()) +
                                   b.spread() * b.spread() / static_cast<double>(b.losses.size()));
    return std::abs(a.mean() - b.mean()) > 2 * error;
}

namespace {

/// What a call gives; what it throws names the model: one that has run away is no row of a table.
template <class Call>
auto of_model(const AblatedModel& model, std::uint64_t seed, Call call) {
    try {
        return call();
    } catch (const Error& error) {
        throw Error(error.fault(), model.name + ", seed " + std::to_string(seed) + ": " + error.what());
    }
}

}  // namespace

std::vector<AblationRow> ablate(const TrainingTask& task, const std::vector<std::uint64_t>& seeds,
                                const std::filesystem::path& folder, ThreadPool& pool,
                                const std::function<bool(const AblationMoment&)>& watch) {
    LOCUS_CHECK(!seeds.empty(), "an ablation with no seeds, expected one or more");
    LOCUS_CHECK(task.heldout > 0, "heldout is 0, expected sentences to judge the models by");
    LOCUS_CHECK(task.plan.objective == Objective::masked_words && !task.plan.sift,
                "an ablation compares masked-word losses, expected the objective mlm without SiFT");
    if (!task.config.terms.c2p || !task.config.terms.p2c || !task.plan.switches.decoder)
        throw Error(
            Fault::usage,
            "an ablation leaves out c2p, p2c and the mask decoder, expected a configuration that has all three");
    std::vector<AblationRow> rows;
    for (const AblatedModel& model : ablated_models()) rows.push_back({model, {}});
    const std::size_t runs = seeds.size() * rows.size();
    std::size_t number = 0;
    for (const std::uint64_t seed : seeds)
        for (AblationRow& row : rows) {
            TrainingRun run(ablated_task(task, row.model, seed), folder, pool);
            LOCUS_CHECK(run.has_heldout(), "heldout is " + format_number(task.heldout) + ", which is none of the " +
                                               std::to_string(run.sentences()) + " sentences of " +
                                               printable(task.corpus.string()) +
                                               ", expected a larger share or more sentences to judge the models by");
            while (run.trainer().steps() < task.plan.steps) {
                const StepReport report = of_model(row.model, seed, [&] { return run.step(); });
                if (!watch({row.model, seed, number, runs, report})) return rows;
            }
            row.losses.push_back(of_model(row.model, seed, [&] { return checked_heldout_loss(run); }));
            ++number;
        }
    return rows;
}

}  // namespace locus

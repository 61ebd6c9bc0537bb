#include "core/cli/train_ablation.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/cli/train_progress.h"
#include "core/json_text.h"
#include "core/text/text_table.h"

namespace locus::cli {

namespace {

using Json = nlohmann::ordered_json;

Json as_json(const std::vector<AblationRow>& rows, const TrainingTask& task, bool stopped) {
    Json models = Json::array();
    for (const AblationRow& row : rows) {
        Json losses = Json::array();
        for (const double loss : row.losses) losses.push_back(json_number(loss));
        models.push_back({{"model", row.model.name},
                          {"c2p", row.model.c2p},
                          {"p2c", row.model.p2c},
                          {"decoder", row.model.decoder},
                          {"losses", losses},
                          {"mean", row.losses.empty() ? Json() : json_number(row.mean())},
                          {"spread", row.losses.empty() ? Json() : json_number(row.spread())},
                          {"differs_clearly_from_all", differ_clearly(row, rows.front())}});
    }
    return {{"steps", task.plan.steps}, {"batch_tokens", task.batch_tokens}, {"stopped", stopped}, {"models", models}};
}

/// One line now and then; on a terminal one that renews itself.
class Progress {
public:
    Progress() = default;
    ~Progress() {
        if (line_open_) std::cerr << std::endl;  // what follows begins on a line of its own
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void operator()(const AblationMoment& at, Index steps) {
        const auto now = std::chrono::steady_clock::now();
        const double passed = std::chrono::duration<double>(now - begin_).count();
        const bool ends = at.step.step == steps;
        if (!ends && std::chrono::duration<double>(now - said_).count() < (terminal_ ? 0.2 : 10)) return;
        said_ = now;
        const double done =
            static_cast<double>(at.run) + static_cast<double>(at.step.step) / static_cast<double>(steps);
        const auto left = std::lround(passed / done * (static_cast<double>(at.runs) - done));
        std::cerr << (terminal_ ? "\r\x1b[K" : "") << "run " << at.run + 1 << "/" << at.runs << "  " << at.model.name
                  << ", seed " << at.seed << "  step " << at.step.step << "/" << steps << "  loss "
                  << loss_text(at.step.loss) << "  " << left / 60 << ":" << (left % 60 < 10 ? "0" : "") << left % 60
                  << " left" << (terminal_ && !ends ? "" : "\n") << std::flush;
        line_open_ = terminal_ && !ends;
    }

private:
    const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point said_ = begin_;
    bool line_open_ = false;
};

}  // namespace

std::string ablation_text(const std::vector<AblationRow>& rows, const TrainingTask& task) {
    std::vector<std::vector<std::string>> cells = {{"model", "masked-word loss", "spread", "against all terms"}};
    for (const AblationRow& row : rows) {
        if (row.losses.empty()) {
            cells.push_back({row.model.name, "not run", "", ""});
            continue;
        }
        const bool first = &row == &rows.front(), alone = row.losses.size() < 2 || rows.front().losses.size() < 2;
        const double more = rows.front().losses.empty() ? 0 : row.mean() - rows.front().mean();
        cells.push_back({row.model.name, loss_text(row.mean()),
                         alone ? "one seed" : "\u00b1 " + loss_text(row.spread()),
                         first ? ""
                               : (more < 0 ? "" : "+") + loss_text(more) +
                                     (alone || differ_clearly(row, rows.front()) ? "" : "  within the spread")});
    }
    const std::size_t made = rows.front().losses.size();
    const std::string seeds = made == 0   ? "stopped before the first of them ended"
                              : made == 1 ? "1 seed"
                                          : std::to_string(made) + " seeds";
    return text_table(cells, {false, true, true, false}) + "\nEach model: " + std::to_string(task.plan.steps) +
           " steps of " + std::to_string(task.batch_tokens) + " tokens of " + task.corpus.filename().string() + ", " +
           seeds +
           "; the loss is that of sentences never seen, the spread the standard deviation over seeds.\n"
           "It shows what a term is worth to a small model on this text after this many steps.  It does not show what "
           "it is worth to\na large model on natural text: the built-in corpus is made so that word order decides, and "
           "a longer run lets one term\nlearn what another would have told.  The table of the paper (He et al. 2021) "
           "is about tasks after fine-tuning.\n";
}

int train_ablation(const TrainingTask& task, const TrainRequest& request, const std::filesystem::path& scratch,
                   ThreadPool& pool, const std::function<bool()>& stopped) {
    std::vector<std::uint64_t> seeds;
    for (Index n = 0; n < request.seeds; ++n) seeds.push_back(request.seed + static_cast<std::uint64_t>(n));
    std::vector<AblationRow> rows;
    {
        Progress progress;
        rows = ablate(task, seeds, scratch, pool, [&](const AblationMoment& at) {
            if (!request.json) progress(at, task.plan.steps);
            return !stopped();
        });
    }
    std::size_t made = 0;
    for (const AblationRow& row : rows) made += row.losses.size();
    const std::size_t wished = rows.size() * seeds.size();
    if (request.json)
        std::cout << as_json(rows, task, made < wished).dump(2) << '\n';
    else
        std::cout << ablation_text(rows, task)
                  << (made < wished
                          ? "\nstopped after " + std::to_string(made) + " of " + std::to_string(wished) + " runs\n"
                          : "");
    return 0;
}

}  // namespace locus::cli

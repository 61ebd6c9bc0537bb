#include "core/cli/train_request.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "core/cli/program.h"
#include "core/io/atomic_folder.h"
#include "core/io/input_file.h"
#include "core/models/config_fields.h"
#include "core/text/corpus/text_file.h"
#include "core/training/training_run.h"

namespace locus::cli {

namespace fs = std::filesystem;

namespace {

constexpr Index kSteps = 1500, kAblationSteps = 400, kWarmup = 100;

/// Without a file: the small model, and no dropout, because a small model on a small corpus has none to spare.
void read_config(const TrainRequest& request, TrainingTask& task) {
    task.config = small_training_config();
    task.plan.hidden_dropout = task.plan.attention_dropout = 0;
    if (!request.config.empty()) {
        const std::string json = read_text_file(request.config);
        task.config = parse_deberta_config(json, request.config);
        const ConfigFields fields(json, request.config);
        task.plan.hidden_dropout = fields.share("hidden_dropout_prob", 0.1);
        task.plan.attention_dropout = fields.share("attention_probs_dropout_prob", 0.1);
    }
    if (request.dropout >= 0) task.plan.hidden_dropout = task.plan.attention_dropout = request.dropout;
}

}  // namespace

void add_train_options(CLI::App& app, TrainRequest& request) {
    const auto positive = CLI::Range(1, 1 << 30);
    app.add_option("--corpus", request.corpus, "text file, one sentence a line; positions is the built-in one")
        ->check(not_empty())
        ->capture_default_str();
    app.add_option("--out", request.out, "folder of the model, new or empty, or with a training to --resume")
        ->check(not_empty());
    app.add_flag("--ablate", request.ablate,
                 "instead of one model, train five with a term left out each, and print what that costs");
    app.add_option("--seeds", request.seeds, "with --ablate: how often each of them")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--objective", request.objective, "mlm: masked words; rtd: replaced tokens")
        ->check(CLI::IsMember({"mlm", "rtd"}))
        ->capture_default_str();
    app.add_flag("--sift", request.sift, "mlm: hold the words still under a push of the embeddings (SiFT)");
    app.add_option("--config", request.config, "config.json of the model's shape; a small one if absent")
        ->check(not_empty());
    auto* steps = app.add_option("--steps", request.steps,
                                 "how many steps, 1500 if absent; with --ablate, of each model, 400 if absent")
                      ->check(positive);
    app.add_option("--minutes", request.minutes, "as many steps as fit into this time")
        ->check(CLI::Range(0.01, 100000.0))
        ->excludes(steps);
    app.add_flag("--resume", request.resume, "go on with the training in --out");
    app.add_option("--vocab", request.pieces, "pieces of the vocabulary; as many as the text gives if absent")
        ->check(positive);
    app.add_option("--batch-tokens", request.batch_tokens, "tokens of a step")->check(positive)->capture_default_str();
    app.add_option("--max-gram", request.max_gram, "words that may be masked in a row; above 1, whole words")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    app.add_option("--rate", request.rate, "peak of the learning rate")->capture_default_str();
    app.add_option("--warmup", request.warmup, "steps until that peak; 100, or a tenth of them, if absent");
    app.add_option("--dropout", request.dropout, "share dropped; that of --config, or 0, if absent")
        ->check(CLI::Range(0.0, 0.99));
    app.add_option("--heldout", request.heldout, "share of the sentences to judge by")
        ->check(CLI::Range(0.0, 0.9))
        ->capture_default_str();
    app.add_option("--seed", request.seed, "another one gives other numbers throughout")->capture_default_str();
    app.add_option("--device", request.device, "cpu, or cuda: attention and its gradients by the fused kernels")
        ->check(CLI::IsMember({"cpu", "cuda"}))
        ->capture_default_str();
    app.add_option("--threads", request.threads, "one for each core if absent")->check(CLI::Range(1, 1024));
    app.add_option("--save-every", request.save_every, "steps between checkpoints; every half minute if absent")
        ->check(positive);
    app.add_flag("--no-emd", request.no_emd, "predict from the last layer, without the enhanced mask decoder");
    app.add_flag("--low-memory", request.low_memory,
                 "compute layers again in the backward pass instead of keeping them");
    app.add_flag("--json", request.json, "print one JSON object a line");
}

TrainingTask task_of(const TrainRequest& request) {
    TrainingTask task;
    task.corpus = request.corpus == "positions" ? asset_path("corpus/positions.txt") : fs::path(request.corpus);
    read_config(request, task);
    TrainingPlan& plan = task.plan;
    plan.objective = request.objective == "mlm" ? Objective::masked_words : Objective::replaced_tokens;
    plan.switches = {!request.no_emd && !task.config.position_biased_input, request.low_memory};
    if (request.sift) plan.sift = SiftSettings{};
    plan.steps = request.steps > 0 ? request.steps : request.ablate ? kAblationSteps : kSteps;
    plan.warmup = request.warmup >= 0 ? request.warmup : std::min(kWarmup, plan.steps / 10);
    plan.rate = request.rate;
    plan.seed = request.seed;
    task.pieces = request.pieces;
    task.batch_tokens = request.batch_tokens;
    task.heldout = request.heldout;
    task.masking.max_gram = request.max_gram;
    check_plan(plan);
    return task;
}

void check_out(const TrainRequest& request) {
    if (request.ablate) {
        LOCUS_CHECK(request.out.empty() && !request.resume && request.minutes == 0 && request.save_every == 0,
                    "--ablate keeps no model, expected no --out, --resume, --save-every or --minutes");
        return;
    }
    LOCUS_CHECK(!request.out.empty(), "--out is missing, expected a folder for the model (or --ablate)");
    std::error_code error;
    tidy_atomic_folder(request.out);
    if (request.resume) {
        if (!holds_training(request.out))
            throw Error(Fault::unreadable,
                        request.out + ": holds no training to go on with, expected " + std::string(kTrainingState));
        return;
    }
    LOCUS_CHECK(!holds_training(request.out),
                request.out + ": holds a training already; --resume goes on with it, or choose another folder");
    LOCUS_CHECK(
        !fs::exists(request.out, error) || (fs::is_directory(request.out, error) &&
                                            fs::directory_iterator(request.out, error) == fs::directory_iterator()),
        request.out + ": is there and not an empty folder, expected a new one");
}

}  // namespace locus::cli

#include "core/cli/train_request.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/io/atomic_folder.h"
#include "core/io/input_file.h"
#include "core/json_text.h"
#include "core/models/config_fields.h"
#include "core/text/corpus/text_file.h"
#include "core/training/training_run.h"

namespace locus::cli {

namespace fs = std::filesystem;

namespace {

constexpr Index kSteps = 1500, kAblationSteps = 400, kWarmup = 100;

/// Where nothing is named: the small model, and no dropout, because a small model on a small corpus has none to spare.
TrainingTask fresh_task() {
    TrainingTask task;
    task.config = small_training_config();
    task.plan.hidden_dropout = task.plan.attention_dropout = 0;
    task.plan.switches.decoder = !task.config.position_biased_input;
    return task;
}

void read_config(const std::string& file, TrainingTask& task) {
    // The vocabulary is learnt anew, so the size of another one may be anything.
    nlohmann::json all = parse_json_object(read_json_text(file), file);
    for (const char* not_read : {"vocab_size", "pad_token_id"}) all.erase(not_read);
    const std::string json = all.dump();
    task.config = parse_deberta_config(json, file);
    task.plan.switches.decoder = !task.config.position_biased_input;
    const ConfigFields fields(json, file);
    task.plan.hidden_dropout = fields.share("hidden_dropout_prob", 0.1);
    task.plan.attention_dropout = fields.share("attention_probs_dropout_prob", 0.1);
    task.plan.deviation = fields.positive("initializer_range", task.plan.deviation);
    check_memory(task.config, task.plan.switches.decoder, file);
}

/// How long, and how long until the peak of the learning rate.
void read_steps(const TrainRequest& request, TrainingPlan& plan) {
    if (request.resume) {
        // The saved number of steps is taken over with the state, and --steps changes it then.
        if (request.warmup >= 0) {
            plan.warmup = request.warmup;
            plan.warmup_follows = false;
        }
        plan.steps = std::max(plan.steps, plan.warmup);
        return;
    }
    plan.steps = request.steps > 0 ? request.steps : request.ablate ? kAblationSteps : kSteps;
    plan.warmup = request.warmup >= 0 ? request.warmup : std::min(kWarmup, plan.steps / 10);
    // How many steps fit into the time shows only while they are made.
    plan.warmup_follows = request.minutes > 0 && request.warmup < 0;
}

}  // namespace

void add_train_options(Command& program, TrainRequest& request) {
    constexpr int kMost = 1 << 30;
    program.option("--corpus", request.corpus, "text file, one sentence a line; positions is the built-in one")
        .not_empty()
        .shows_default();
    program.option("--out", request.out, "folder of the model, new or empty, or with a training to --resume")
        .not_empty();
    program.flag("--ablate", request.ablate,
                 "instead of one model, train five with a term left out each, and print what that costs");
    program.option("--seeds", request.seeds, "with --ablate: how often each of them").within(1, 1000).shows_default();
    program.option("--objective", request.objective, "mlm: masked words; rtd: replaced tokens")
        .one_of({"mlm", "rtd"})
        .shows_default();
    program.flag("--sift", request.sift,
                 "mlm: also learn to predict the same when noise is added to the embeddings (SiFT)");
    program
        .option("--config", request.config,
                "config.json of the model's shape, whose vocab_size and pad_token_id are not read; a small one if "
                "absent")
        .not_empty();
    const Option steps = program
                             .option("--steps", request.steps,
                                     "how many steps, 1500 if absent; with --ablate, of each model, 400 if absent")
                             .within(1, kMost);
    program.option("--minutes", request.minutes, "as many steps as fit into this time")
        .within(0.01, 100000.0)
        .excludes(steps);
    program.flag("--resume", request.resume,
                 "go on with the training in --out, by the settings that it was begun with");
    program.option("--vocab", request.pieces, "pieces of the vocabulary; as many as the text gives if absent")
        .within(6, 1'000'000);
    program.option("--batch-tokens", request.batch_tokens, "tokens of a step").within(1, kMost).shows_default();
    program.option("--max-gram", request.max_gram, "words that may be masked in a row; above 1, whole words")
        .within(1, int{kMostGram})
        .shows_default();
    program.option("--rate", request.rate, "peak of the learning rate").shows_default();
    program
        .option("--warmup", request.warmup, "steps until that peak; 100, or a tenth of all if that is less, if absent")
        .within(0, kMost);
    program.option("--dropout", request.dropout, "share dropped; that of --config, or 0, if absent").within(0.0, 0.99);
    program.option("--heldout", request.heldout, "share of the sentences to judge by").within(0.0, 0.9).shows_default();
    program.option("--seed", request.seed, "another one gives other numbers throughout").shows_default();
    program.option("--device", request.device, "cpu, or cuda: attention and its gradients by the fused kernels")
        .one_of({"cpu", "cuda"})
        .shows_default();
    program.option("--threads", request.threads, "one for each core if absent").within(1, 1024);
    program.option("--save-every", request.save_every, "steps between checkpoints; every half minute if absent")
        .within(1, kMost);
    program.flag("--no-emd", request.no_emd, "predict from the last layer, without the enhanced mask decoder");
    program.flag("--low-memory", request.low_memory,
                 "compute layers again in the backward pass instead of keeping them");
    program.flag("--json", request.json, "print one JSON object a line");
}

TrainingTask task_of(const Command& program, const TrainRequest& request) {
    TrainingTask task = request.resume ? saved_task(request.out) : fresh_task();
    const auto is_set = [&](const char* option) { return !request.resume || program.given(option); };
    task.corpus = request.corpus == "positions" ? asset_path("corpus/positions.txt") : fs::path(request.corpus);
    if (!request.config.empty()) read_config(request.config, task);
    TrainingPlan& plan = task.plan;
    if (request.dropout >= 0) plan.hidden_dropout = plan.attention_dropout = request.dropout;
    if (is_set("--objective"))
        plan.objective = request.objective == "mlm" ? Objective::masked_words : Objective::replaced_tokens;
    if (request.no_emd) plan.switches.decoder = false;
    plan.switches.checkpointing = request.low_memory;
    if (request.sift) plan.sift = SiftSettings{};
    read_steps(request, plan);
    if (is_set("--rate")) plan.rate = request.rate;
    if (is_set("--seed")) plan.seed = request.seed;
    if (is_set("--vocab")) task.pieces = request.pieces;
    if (is_set("--batch-tokens")) task.batch_tokens = request.batch_tokens;
    if (is_set("--heldout")) task.heldout = request.heldout;
    LOCUS_CHECK(request.max_gram == 1 || plan.objective == Objective::masked_words,
                "--max-gram goes with --objective mlm: of replaced tokens, the generator masks words one by one");
    if (is_set("--max-gram")) task.masking.max_gram = request.max_gram;
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

// locus train: a model from a text file.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "core/cli/program.h"
#include "core/cli/train_ablation.h"
#include "core/cli/train_progress.h"
#include "core/cli/train_request.h"
#include "core/io/atomic_file.h"
#include "core/io/subprocess.h"
#include "core/text/text_table.h"
#include "core/training/trainer.h"
#include "core/training/training_run.h"
#include "cuda/library.h"

namespace {

using namespace locus;
namespace fs = std::filesystem;

volatile std::sig_atomic_t stop_asked = 0;

/// The first time asks for an end after this step; the second time is the usual one.
extern "C" void ask_to_stop(int signal) {
    stop_asked = 1;
    std::signal(signal, SIG_DFL);
}

std::string description(const TrainingRun& run) {
    const DebertaConfig& config = run.task().config;
    return std::to_string(run.sentences()) + " sentences of up to " + std::to_string(run.longest()) + " tokens, " +
           std::to_string(run.vocabulary().pieces) + " pieces; " + std::to_string(config.num_hidden_layers) +
           " layers of width " + std::to_string(config.hidden_size);
}

/// The options with which a training goes on; its settings are in its folder.
std::string going_on(const std::string& out, const std::string& corpus) {
    return "--resume --out " + shell_quoted(out) + (corpus == "positions" ? "" : " --corpus " + shell_quoted(corpus));
}

/// Where the corpus is, seen from the folder of the training.
std::string corpus_from(const cli::TrainRequest& request) {
    if (request.corpus == "positions") return request.corpus;
    const auto whole = [](const std::string& path) { return std::filesystem::absolute(path).lexically_normal(); };
    return whole(request.corpus).lexically_relative(whole(request.out + "/").parent_path()).string();
}

std::string readme(TrainingRun& run, const cli::TrainRequest& request) {
    const Trainer& trainer = run.trainer();
    const bool words = trainer.plan().objective == Objective::masked_words;
    return "# A DeBERTa model trained by Locus\n\n" + description(run) + ", learnt from `" +
           run.task().corpus.filename().string() + "` by " +
           (words ? "masked words" : "replaced tokens; the generator is in `generator/`") + ", " +
           std::to_string(trainer.steps()) + " of " + std::to_string(trainer.plan().steps) +
           " steps.\n\n```\nlocus fill --model . \"... [MASK] ...\"\nlocus view .\nlocus train " +
           going_on(".", corpus_from(request)) + "\n```\n\nTransformers opens the folder as " +
           (words ? "`DebertaV2ForMaskedLM`, without the enhanced mask decoder" : "`DebertaV2Model`") +
           ".\n`training_state.safetensors` is what `--resume` needs and nobody else.\n";
}

[[noreturn]] void throw_no_number(Trainer& trainer, const std::string& what) {
    throw Error(Fault::unsupported, "step " + std::to_string(trainer.steps()) + ": " + what +
                                        " is not a number any more; what was saved before stays, expected a lower "
                                        "--rate than " +
                                        format_number(trainer.plan().rate));
}

/// A step may leave weights that are no numbers any more, which only the next one would see.
void check_weights(Trainer& trainer) {
    const auto check = [&](const Parameters<float>& values) {
        for (const auto& one : values.entries())
            if (!values.row(one.name).allFinite()) throw_no_number(trainer, one.name);
    };
    check(trainer.words().values);
    if (trainer.detector()) check(trainer.detector()->values);
}

/// The loss on sentences held out, where there are any.
double checked_loss(TrainingRun& run) {
    const double loss = run.heldout_loss();
    if (run.has_heldout() && !std::isfinite(loss)) throw_no_number(run.trainer(), "the loss on sentences never seen");
    return loss;
}

int train(const cli::Command& program, const cli::TrainRequest& request) {
    cli::check_out(request);
    LOCUS_CHECK(request.ablate || !program.given("--seeds"), "--seeds goes with --ablate");
    TrainingTask task = cli::task_of(program, request);
    std::unique_ptr<AttentionEngine> on_device;
    if (request.device == "cuda") {
        on_device = cuda::library().training_attention();
        task.plan.switches.engine = on_device.get();
    }
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    ThreadPool pool(request.threads > 0 ? request.threads : cores);
    // For the tokenizer's files while they are opened.
    auto scratch = std::make_unique<ScratchFolder>("train");
    if (request.ablate) {
        std::signal(SIGINT, ask_to_stop);
        return cli::train_ablation(task, request, scratch->path(), pool, [] { return stop_asked != 0; });
    }
    TrainingRun run(task, scratch->path(), pool);
    scratch.reset();  // a training may be killed in its hours, and nobody would remove it then
    TrainingFolder folder(request.out, run);
    Trainer& trainer = run.trainer();
    bool new_end = false;
    if (request.resume) {
        folder.resume();
        if (request.steps > 0) {
            LOCUS_CHECK(request.steps >= trainer.steps(), "--steps is " + std::to_string(request.steps) +
                                                              ", but the training in " + request.out + " has made " +
                                                              std::to_string(trainer.steps()) + " already");
            new_end = trainer.plan().steps != request.steps;
            trainer.set_steps(request.steps);
        }
    } else {
        folder.save(readme(run, request));  // so that a folder that cannot be written is known before the work
    }

    std::signal(SIGINT, ask_to_stop);
    std::signal(SIGTERM, ask_to_stop);
    cli::TrainProgress progress(request.json, request.minutes);
    progress.say(description(run) + (request.resume ? "; from step " + std::to_string(trainer.steps()) : ""));
    if (new_end)
        progress.say("the learning rate now falls to 0 at step " + std::to_string(request.steps) +
                     ": other numbers than those of a training that was begun with so many steps");
    if (run.cuts() > 0)
        progress.say("long lines were cut " + std::to_string(run.cuts()) + " times, into sentences of at most " +
                     std::to_string(run.task().config.max_position_embeddings) + " tokens");
    double saved = progress.seconds();
    while (!stop_asked && !progress.time_is_over() && (request.minutes > 0 || trainer.steps() < trainer.plan().steps)) {
        if (request.minutes > 0) trainer.set_steps(progress.steps_in_time(trainer.steps(), trainer.plan().steps));
        progress.step(run.step(), trainer.plan().steps);
        const bool due =
            request.save_every > 0 ? trainer.steps() % request.save_every == 0 : progress.seconds() - saved > 30;
        if (!due) continue;
        check_weights(trainer);
        folder.save(readme(run, request));
        saved = progress.seconds();
    }
    check_weights(trainer);
    const double heldout = checked_loss(run);
    folder.save(readme(run, request));
    progress.finish(run, heldout, request.out, going_on(request.out, request.corpus),
                    stop_asked && trainer.steps() < trainer.plan().steps);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    cli::Command program(
        "Trains a small DeBERTa on a text file, from its vocabulary to a Hugging Face folder.\n"
        "  locus train --out build/model\n"
        "  locus train --corpus book.txt --out build/model --minutes 3\n"
        "  locus train --objective rtd --out build/model --steps 500\n"
        "  locus train --out build/model --resume\n"
        "  locus train --ablate --steps 400\n"
        "The model is saved as a whole every half minute and at the end; Ctrl+C saves too.  A training that goes on\n"
        "makes the same numbers as one that never stopped: its settings are in its folder, and --corpus names its "
        "text.\n"
        "With another --steps, or with --minutes, it goes on too, but the learning rate, which falls to 0 at the last\n"
        "step, then falls otherwise than in a training that was begun with so many.",
        "locus train");
    cli::TrainRequest request;
    cli::add_train_options(program, request);
    return cli::run_program(program, argc, argv, [&] {
        keep_freed_memory();
        return train(program, request);
    });
}

// locus train: a model from a text file.
#include <algorithm>
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
#include "core/io/write_target.h"
#include "core/text/text_table.h"
#include "core/training/model_folder.h"
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

/// Before anything is written, so that temporary files never outlive the program: the folder of the tokenizer is there
/// for the first seconds of a training, and as long as models are compared.
void stop_when_asked() {
    std::signal(SIGINT, ask_to_stop);
    std::signal(SIGTERM, ask_to_stop);
    if (std::signal(SIGHUP, ask_to_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // as nohup wishes
}

std::string description(const TrainingRun& run) {
    const DebertaConfig& config = run.task().config;
    return std::to_string(run.sentences()) + " sentences of up to " + std::to_string(run.longest()) + " tokens, " +
           std::to_string(run.vocabulary().pieces) + " pieces; " + std::to_string(config.num_hidden_layers) +
           " layers of width " + std::to_string(config.hidden_size);
}

/// A file or folder as a word of a command line, where a minus in front would make it an option.
std::string as_word(const std::string& path) { return shell_quoted((path.starts_with("-") ? "./" : "") + path); }

/// The options with which a training goes on; its settings are in its folder.
std::string going_on(const std::string& out, const std::string& corpus) {
    return "--resume --out " + as_word(out) + (corpus == "positions" ? "" : " --corpus " + as_word(corpus));
}

/// The folder of the training, behind the links that lead to it.
fs::path place_of(const std::string& out) {
    fs::path wanted = fs::absolute(out);
    if (!wanted.has_filename()) wanted = wanted.parent_path();  // "model/"
    const fs::path place = fs::weakly_canonical(behind_links(wanted));
    return place.has_filename() ? place : place.parent_path();
}

/// Where the corpus is, seen from `folder`.
std::string corpus_from(const fs::path& folder, const std::string& corpus) {
    if (corpus == "positions") return corpus;
    const fs::path file = fs::absolute(corpus);
    return (fs::weakly_canonical(file.parent_path()) / file.filename()).lexically_relative(folder).string();
}

/// Its commands run in the folder above: a save puts a new folder in the place of the old one, and whoever stands in
/// the old one then stands in one that was removed.
std::string readme(TrainingRun& run, const cli::TrainRequest& request) {
    const Trainer& trainer = run.trainer();
    const bool words = trainer.plan().objective == Objective::masked_words;
    const fs::path place = place_of(request.out);
    const std::string name = place.filename().string(), opened_as = masked_word_class(run.task().config);
    return "# A DeBERTa model trained by Locus\n\n" + description(run) + ", learnt from `" +
           run.task().corpus.filename().string() + "` by " +
           (words ? "masked words" : "replaced tokens; the generator is in `generator/`") + ", " +
           std::to_string(trainer.steps()) + " of " + std::to_string(trainer.plan().steps) +
           " steps.  In the folder above this one:\n\n```\nlocus fill --model " +
           as_word(words ? name : name + "/generator") + " \"... [MASK] ...\"\nlocus view " + as_word(name) +
           "\nlocus train " + going_on(name, corpus_from(place.parent_path(), request.corpus)) +
           "\n```\n\nTransformers opens the folder as " +
           (!words                                ? "`DebertaV2Model`"
            : opened_as == "DebertaV2ForMaskedLM" ? "`DebertaV2ForMaskedLM`, without the enhanced mask decoder"
                                                  : "`DebertaV2Model`: its masked-word head knows no embedding_size "
                                                    "that is not hidden_size") +
           ".\n`training_state.safetensors` is what `--resume` needs and nobody else.\n";
}

/// Takes up the training in the folder, or begins one there.  True if its learning rate falls to 0 at another step now.
bool begin(TrainingRun& run, TrainingFolder& folder, const cli::TrainRequest& request) {
    if (!request.resume) {
        folder.save(readme(run, request));  // so that a folder that cannot be written is known before the work
        return false;
    }
    folder.resume();
    if (request.steps == 0) return false;
    Trainer& trainer = run.trainer();
    LOCUS_CHECK(request.steps >= trainer.steps(), "--steps is " + std::to_string(request.steps) +
                                                      ", but the training in " + request.out + " has made " +
                                                      std::to_string(trainer.steps()) + " already");
    const bool new_end = trainer.plan().steps != request.steps;
    trainer.set_steps(request.steps);
    return new_end;
}

void say_what_is_trained(cli::TrainProgress& progress, const TrainingRun& run, Index steps,
                         const cli::TrainRequest& request, bool new_end) {
    progress.say(description(run) + (request.resume ? "; from step " + std::to_string(steps) : ""));
    if (new_end)
        progress.say("the learning rate now falls to 0 at step " + std::to_string(request.steps) +
                     ": other numbers than those of a training that was begun with so many steps");
    if (run.cuts() > 0)
        progress.say("long lines were cut " + std::to_string(run.cuts()) + " times, into sentences of at most " +
                     std::to_string(run.task().config.max_position_embeddings) + " tokens");
    if (run.task().heldout > 0 && !run.has_heldout())
        progress.say("no sentence is held out, so there is no loss on sentences never seen: --heldout " +
                     format_number(run.task().heldout) + " of " + std::to_string(run.sentences()) +
                     " sentences is none");
}

void learn(TrainingRun& run, TrainingFolder& folder, const cli::TrainRequest& request, bool new_end) {
    Trainer& trainer = run.trainer();
    cli::TrainProgress progress(request.json, request.minutes);
    say_what_is_trained(progress, run, trainer.steps(), request, new_end);
    double saved = progress.seconds();
    while (!stop_asked && !progress.time_is_over() && (request.minutes > 0 || trainer.steps() < trainer.plan().steps)) {
        if (request.minutes > 0) trainer.set_steps(progress.steps_in_time(trainer.steps(), trainer.plan().steps));
        progress.step(run.step(), trainer.plan().steps);
        const bool due =
            request.save_every > 0 ? trainer.steps() % request.save_every == 0 : progress.seconds() - saved > 30;
        if (!due) continue;
        trainer.check_weights();  // a step may leave some that only the next one would see
        folder.save(readme(run, request));
        saved = progress.seconds();
    }
    const double heldout = checked_heldout_loss(run);
    folder.save(readme(run, request));
    progress.finish(run, heldout, request.out, going_on(request.out, request.corpus),
                    stop_asked && trainer.steps() < trainer.plan().steps);
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
    stop_when_asked();
    // For the tokenizer's files while they are opened.
    auto scratch = std::make_unique<ScratchFolder>("train");
    if (request.ablate)
        return cli::train_ablation(task, request, scratch->path(), pool, [] { return stop_asked != 0; });
    TrainingRun run(task, scratch->path(), pool);
    scratch.reset();  // a training may be killed in its hours, and nobody would remove it then
    TrainingFolder folder(request.out, run);
    const bool new_end = begin(run, folder, request);
    try {
        learn(run, folder, request, new_end);
    } catch (const Error& error) {
        if (error.fault() != Fault::unsupported) throw;
        throw Error(error.fault(), std::string(error.what()) + "; what was saved before stays");
    }
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

// What a model is opened and trained with: config.json, an input file, and the state of a training.
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/conformance/kit/case.h"
#include "core/io/recorded_inputs.h"
#include "core/io/safetensors.h"
#include "core/models/model.h"
#include "core/models/roformer.h"
#include "core/models/transformer_xl.h"
#include "core/models/xlnet.h"
#include "core/training/model_folder.h"
#include "core/training/training_run.h"
#include "tests/fuzz/fuzz_target.h"

namespace locus::test {

namespace {

namespace fs = std::filesystem;

void check_deberta(const std::string& text) {
    const DebertaConfig config = parse_deberta_config(text, "config.json");
    promise(config.num_attention_heads >= 1 && config.attention_head_size >= 1 && config.num_hidden_layers >= 0,
            "sizes are positive");
    promise(!config.relative_attention || config.span() >= 1, "relative attention has a span");
    if (config.version == 1) return;  // is read alone
    const std::string written = deberta_config_json(config);
    promise(deberta_config_json(parse_deberta_config(written, "config.json")) == written,
            "a configuration that is written and read is the same");
}

/// A training of a few sentences, small enough to be written and read in a millisecond.
struct SmallRun {
    SmallRun() : scratch("fuzz"), pool(1) {
        const fs::path& folder = scratch.path();
        TrainingTask task;
        std::string text;
        for (const char* noun : {"cat", "dog", "fox", "hen", "owl"})
            for (const char* verb : {"saw", "met", "hid"})
                text += std::string("the ") + noun + " " + verb + " a tree\n";
        task.corpus = fuzz_file(folder, "corpus.txt", text);
        task.config = small_training_config();
        task.config.hidden_size = task.config.embedding_size = task.config.intermediate_size = 8;
        task.config.num_attention_heads = 1;
        task.config.num_hidden_layers = 2;
        task.config.attention_head_size = 8;
        task.config.max_position_embeddings = task.config.max_relative_positions = 16;
        task.config.position_buckets = 4;
        task.plan.steps = 4;
        task.plan.warmup = 1;
        task.batch_tokens = 64;
        fs::create_directory(folder / "tokenizer");
        run.emplace(task, folder / "tokenizer", pool);
        run->step();
        state.emplace(folder / "training", *run);
        state->save("");
    }
    fs::path file() const { return scratch / "training" / kTrainingState; }
    ScratchFolder scratch;
    ThreadPool pool;
    std::optional<TrainingRun> run;
    std::optional<TrainingFolder> state;
};

void check_task(const TrainingTask& task) {
    const TrainingPlan& plan = task.plan;
    promise(task.batch_tokens >= 1 && plan.steps >= 1 && plan.warmup >= 0 && task.pieces >= 0, "no count is too small");
    promise(plan.rate > 0 && plan.deviation > 0, "what must be positive is");
    for (const double share : {task.heldout, plan.hidden_dropout, plan.attention_dropout})
        promise(share >= 0 && share < 1, "a share is one");
    promise(task.masking.max_gram >= 1 && task.masking.max_gram <= kMostGram, "no run of masked pieces is too long");
}

}  // namespace

void fuzz_config(std::string_view bytes, const fs::path&) {
    const std::string text(bytes);
    switch (family_of(text, "config.json")) {
        case Family::deberta:
            return check_deberta(text);
        case Family::roformer: {
            const RoformerConfig config = parse_roformer_config(text, "config.json");
            return promise(config.hidden_size % config.num_attention_heads == 0, "heads divide the width");
        }
        case Family::transformer_xl: {
            const TransformerXlConfig config = parse_transformer_xl_config(text, "config.json");
            promise(config.n_layer >= 0, "no size is negative");
            promise(std::ssize(config.tied_projections) == config.clusters(), "every cluster has or has no tie");
            Index words = 0;
            for (Index n = 0; n < config.clusters(); ++n) {
                promise(config.cluster_size(n) > 0 && config.cluster_width(n) > 0, "no cluster is empty");
                words += config.cluster_size(n);
            }
            return promise(words == config.vocab_size, "every word stands in a cluster");
        }
        case Family::xlnet:
            return promise(parse_xlnet_config(text, "config.json").n_layer >= 0, "no size is negative");
    }
}

void fuzz_inputs(std::string_view bytes, const fs::path& folder) {
    // What a trace says in its metadata of the inputs that it was computed from.
    if (bytes.starts_with('[') || bytes.starts_with('{')) {
        const std::vector<ModelInput> segments = inputs_from_json(std::string(bytes), "\"inputs\"");
        for (const ModelInput& segment : segments)
            promise(segment.tokens.rank() == 2 && static_cast<std::size_t>(segment.tokens.size()) <= bytes.size(),
                    "tokens are [B, T], and every one has a byte");
        const std::string written = inputs_as_json(segments);
        return promise(inputs_as_json(inputs_from_json(written, "\"inputs\"")) == written,
                       "inputs that are written and read are the same");
    }
    const fs::path file = fuzz_file(folder, "inputs.safetensors", bytes);
    for (const ModelInput& segment : conformance::segments_in(file)) {
        promise(segment.tokens.shape().size() == 2, "tokens are [B, T]");
        promise(static_cast<std::size_t>(element_count(segment.tokens.shape())) <= bytes.size(),
                "every token has a byte");
    }
}

void fuzz_training(std::string_view bytes, const fs::path& folder) {
    // What a state says of its training, without the numbers.
    if (bytes.starts_with('{')) return check_task(parse_saved_task(std::string(bytes), "state.safetensors"));
    static std::optional<SmallRun> kept;  // learning its vocabulary takes a hundred times as long as a file
    try {
        if (!kept) kept.emplace();
    } catch (const Error& error) {
        throw BrokenPromise(error.what());  // not the input's fault
    }
    TrainingRun& run = *kept->run;
    const fs::path file = fuzz_file(kept->file().parent_path(), kTrainingState, bytes);
    const Parameters<float>& values = run.trainer().words().values;
    const std::vector<float> before(values.numbers().data(), values.numbers().data() + values.size());
    const Index steps = run.trainer().steps();
    const BatchPlace place = run.batches().place();
    if (takes_its_turn(bytes, 4)) try {
            check_task(saved_task(file.parent_path()));
        } catch (const Error&) {  // resume() may still take it: it looks at no more than it needs
        }
    try {
        kept->state->resume();
    } catch (const Error&) {
        promise(run.trainer().steps() == steps && run.batches().place() == place &&
                    static_cast<std::size_t>(values.size()) == before.size() &&
                    std::memcmp(values.numbers().data(), before.data(), sizeof(float) * before.size()) == 0,
                "a state that is refused leaves the training as it was");
        throw;
    }
    // What was resumed is written as it was read.
    kept->state->save("");
    const Trace read = read_trace(fuzz_file(folder, "state.safetensors", bytes)), written = read_trace(file);
    for (const char* name : {"words.values", "words.first", "words.second"}) {
        const Tensor<float>&a = read.at(name).as<float>(), &b = written.at(name).as<float>();
        promise(std::memcmp(a.data(), b.data(), sizeof(float) * static_cast<std::size_t>(b.size())) == 0,
                "a state that is resumed and written is the same");
    }
}

}  // namespace locus::test

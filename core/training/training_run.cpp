#include "core/training/training_run.h"

#include <algorithm>
#include <limits>

#include "core/io/atomic_file.h"

namespace locus {

DebertaConfig small_training_config() {
    DebertaConfig config;
    config.hidden_size = config.embedding_size = 128;
    config.num_hidden_layers = 3;
    config.num_attention_heads = 4;
    config.attention_head_size = 32;
    config.intermediate_size = 512;
    config.max_position_embeddings = config.max_relative_positions = 128;
    config.position_buckets = 16;
    config.position_biased_input = false;
    config.share_att_key = true;
    config.norm_rel_ebd = true;
    return config;
}

TrainingRun::TrainingRun(TrainingTask task, const std::filesystem::path& folder, ThreadPool& pool)
    : task_(std::move(task)), vocabulary_(train_vocabulary(task_.corpus, {task_.pieces, true})) {
    for (const auto& [name, bytes] : vocabulary_.files)
        write_atomic_file(folder / name, [&](const ByteSink& sink) { sink(bytes.data(), bytes.size()); });
    tokenizer_ = open_tokenizer(folder);
    masking_ = masking_vocabulary(*tokenizer_, vocabulary_.pieces);
    task_.config.vocab_size = vocabulary_.pieces;
    sentences_ = read_token_sentences(task_.corpus, *tokenizer_, task_.config.max_position_embeddings);
    for (Index s = 0; s < sentences_.count(); ++s) longest_ = std::max(longest_, sentences_.length(s));
    split_ = split_corpus(sentences_.count(), task_.heldout, task_.plan.seed);
    BatchRules rules;
    rules.batch_tokens = task_.batch_tokens;
    rules.masking = task_.plan.objective == Objective::replaced_tokens ? kGeneratorMasking : task_.masking;
    rules.seed = task_.plan.seed;
    batches_ = std::make_unique<BatchReader>(sentences_, split_.learn, masking_, rules);
    judged_by_ = fixed_batches(sentences_, split_.heldout, masking_, rules);
    trainer_ = std::make_unique<Trainer>(task_.config, task_.plan, pool);
}

double TrainingRun::heldout_loss() {
    double sum = 0, targets = 0;
    for (const PackedBatch& batch : judged_by_) {
        const auto some = static_cast<double>(
            std::count_if(batch.labels.begin(), batch.labels.end(), [](std::int64_t label) { return label > 0; }));
        sum += some * trainer_->evaluate(batch);
        targets += some;
    }
    return targets > 0 ? sum / targets : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace locus

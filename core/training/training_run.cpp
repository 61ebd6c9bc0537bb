#include "core/training/training_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/atomic_file.h"
#include "core/io/input_file.h"
#include "core/io/safetensors.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/training/model_folder.h"

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
    for (const auto& [name, bytes] : vocabulary_.files) write_atomic_file(folder / name, bytes);
    tokenizer_ = open_tokenizer(folder);
    masking_ = masking_vocabulary(*tokenizer_, vocabulary_.pieces);
    // The vocabulary is a new one, whatever the configuration was made for: its [PAD] is 0.
    task_.config.vocab_size = vocabulary_.pieces;
    task_.config.pad_token_id = 0;
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

double checked_heldout_loss(TrainingRun& run) {
    run.trainer().check_weights();
    const double loss = run.heldout_loss();
    if (run.has_heldout() && !std::isfinite(loss)) run.trainer().throw_no_number("the loss on sentences never seen");
    return loss;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "locus-training-1";
constexpr std::uint64_t kMostSteps = 1 << 30;

/// FNV-1a, to know a file again.
std::string fingerprint(const std::string& bytes) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    return std::to_string(bytes.size()) + " bytes, " + std::to_string(hash);
}

Json setting_of(const TrainingTask& task) {
    const TrainingPlan& plan = task.plan;
    Json setting = {{"corpus", fingerprint(read_text_file(task.corpus))}};
    setting.update(Json::parse(deberta_config_json(task.config)));
    setting.update(Json{{"objective", plan.objective == Objective::masked_words ? "mlm" : "rtd"},
                        {"decoder", plan.switches.decoder},
                        {"sift", plan.sift.has_value()},
                        {"hidden_dropout", plan.hidden_dropout},
                        {"attention_dropout", plan.attention_dropout},
                        {"warmup", plan.warmup},
                        {"rate", plan.rate},
                        {"clip", plan.clip},
                        {"beta1", plan.optimiser.beta1},
                        {"beta2", plan.optimiser.beta2},
                        {"eps", plan.optimiser.eps},
                        {"weight_decay", plan.optimiser.weight_decay},
                        {"deviation", plan.deviation},
                        {"seed", plan.seed},
                        {"generator_layers", plan.generator_layers},
                        {"detection_weight", plan.detection_weight},
                        {"temperature", plan.temperature},
                        {"sharing", static_cast<int>(plan.sharing)},
                        {"batch_tokens", task.batch_tokens},
                        {"heldout", task.heldout},
                        {"masking.share", task.masking.share},
                        {"masking.max_gram", task.masking.max_gram},
                        {"masking.mask", task.masking.mask},
                        {"masking.keep", task.masking.keep},
                        {"masking.most", task.masking.most}});
    if (plan.warmup_follows) setting["warmup_follows"] = true;  // states of trainings by steps never said so
    if (plan.sift)
        setting.update(Json{{"sift.deviation", plan.sift->deviation},
                            {"sift.rate", plan.sift->rate},
                            {"sift.weight", plan.sift->weight}});
    return setting;
}

/// Values and moments of a network, each as one run of numbers.
void add_network(std::vector<TensorToWrite>& tensors, const std::string& name, const TrainedNetwork& network) {
    for (const auto& [part, numbers] : {std::pair{".values", &network.values},
                                        {".first", &network.optimiser.first()},
                                        {".second", &network.optimiser.second()}})
        tensors.push_back({name + part, {numbers->size()}, numbers->numbers().data()});
}

Parameters<float> read_numbers(const TensorFile& file, const std::filesystem::path& path, const std::string& name,
                               const Parameters<float>& like) {
    const TensorEntry* entry = file.find(name);
    if (!entry || entry->dtype != Dtype::f32 || entry->shape != Shape{like.size()})
        throw Error(Fault::unreadable, path.string() + ": has no tensor " + name + " of " +
                                           std::to_string(like.size()) + " numbers in F32, the state of a training");
    Parameters<float> numbers = like.zeros();
    numbers.numbers() = read_rows<float>(*entry, 0, like.size()).reshaped().transpose();
    return numbers;
}

struct SavedNetwork {
    Parameters<float> values, first, second;
};

SavedNetwork read_network(const TensorFile& file, const std::filesystem::path& path, const std::string& name,
                          const TrainedNetwork& like) {
    return {read_numbers(file, path, name + ".values", like.values),
            read_numbers(file, path, name + ".first", like.values),
            read_numbers(file, path, name + ".second", like.values)};
}

void restore_network(TrainedNetwork& network, SavedNetwork saved, Index step) {
    network.values = std::move(saved.values);
    network.optimiser.restore(step, std::move(saved.first), std::move(saved.second));
}

/// The text that says where a training stands; "" if the file says nothing of one.
std::string description_in(const TensorFile& file) {
    for (const auto& [key, value] : file.metadata)
        if (key == "training") return value;
    return "";
}

nlohmann::json parse_description(const std::string& text, const std::filesystem::path& path) {
    const nlohmann::json description =
        text.empty() ? nlohmann::json() : parse_json(text, printable(path.string()) + ", its metadata");
    const auto is_count = [&](const char* name) {
        return description.contains(name) && description[name].is_number_unsigned();
    };
    const auto is_step = [&](const char* name) {
        return is_count(name) && description[name].get<std::uint64_t>() <= kMostSteps;
    };
    if (description.is_object() && description.value("format", nlohmann::json()) == kFormat && is_step("step") &&
        is_step("steps") && description["steps"] != 0 && is_count("epoch") && is_count("batch") &&
        description.contains("setting"))
        return description;
    throw Error(Fault::unreadable,
                path.string() + ": says nothing of a training in its metadata, expected " + std::string(kFormat));
}

TensorFile open_state(const std::filesystem::path& folder) {
    if (!holds_training(folder))
        throw Error(Fault::unreadable,
                    folder.string() + ": holds no training to go on with, expected " + std::string(kTrainingState));
    return open_safetensors(folder / kTrainingState);
}

void check_setting(const nlohmann::json& there, const Json& here, const std::filesystem::path& folder) {
    for (const auto& [name, value] : here.items())
        LOCUS_CHECK(there.contains(name) && there[name] == nlohmann::json(value),
                    folder.string() + ": the training there has " + name + " " +
                        (there.contains(name) ? there[name].dump() : std::string("none")) + ", this one " +
                        value.dump() +
                        (name == "corpus" ? "; name the text that it was begun with, or write to another folder"
                                          : "; go on with the same settings, or write to another folder"));
}

}  // namespace

bool holds_training(const std::filesystem::path& folder) {
    std::error_code error;
    return std::filesystem::exists(folder / kTrainingState, error);
}

TrainingTask saved_task(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / kTrainingState;
    return parse_saved_task(description_in(open_state(folder)), path);
}

TrainingTask parse_saved_task(const std::string& text, const std::filesystem::path& path) {
    const nlohmann::json description = parse_description(text, path);
    const JsonFields fields(description["setting"], path.string());
    TrainingTask task;
    task.config = parse_deberta_config(description["setting"].dump(), path.string());
    task.batch_tokens = fields.number("batch_tokens", 1, task.batch_tokens);
    task.heldout = fields.share("heldout", task.heldout);
    task.masking.max_gram = fields.number("masking.max_gram", 1, task.masking.max_gram);
    if (task.masking.max_gram > kMostGram)
        fields.throw_unreadable("masking.max_gram", "a whole number from 1 to " + std::to_string(kMostGram));
    TrainingPlan& plan = task.plan;
    plan.objective = fields.text("objective") == "rtd" ? Objective::replaced_tokens : Objective::masked_words;
    plan.switches.decoder = fields.flag("decoder", plan.switches.decoder);
    if (fields.flag("sift", false)) plan.sift = SiftSettings{};
    plan.hidden_dropout = fields.share("hidden_dropout", plan.hidden_dropout);
    plan.attention_dropout = fields.share("attention_dropout", plan.attention_dropout);
    plan.rate = fields.positive("rate", plan.rate);
    plan.deviation = fields.positive("deviation", plan.deviation);
    plan.warmup = fields.number("warmup", 0, plan.warmup);
    plan.warmup_follows = fields.flag("warmup_follows", false);
    const nlohmann::json* seed = fields.find("seed");
    if (!seed || !seed->is_number_unsigned()) fields.throw_unreadable("seed", "a whole number");
    plan.seed = seed->get<std::uint64_t>();
    // What is beside the setting may change from start to start.
    const JsonFields beside(description, path.string());
    plan.steps = beside.number("steps", 1, plan.steps);
    task.pieces = beside.number("pieces", 0, 0);
    return task;
}

TrainingFolder::TrainingFolder(std::filesystem::path folder, TrainingRun& run)
    : setting_(setting_of(run.task()).dump()), folder_(std::move(folder)), run_(run) {}

void TrainingFolder::save(const std::string& readme) {
    Trainer& trainer = run_.trainer();
    const BatchPlace place = run_.batches().place();
    const Json description = {{"format", kFormat},
                              {"step", trainer.steps()},
                              {"steps", trainer.plan().steps},
                              {"epoch", place.epoch},
                              {"batch", place.batch},
                              {"pieces", run_.task().pieces},  // as asked for, 0: all
                              {"setting", Json::parse(setting_)}};
    std::vector<TensorToWrite> tensors;
    add_network(tensors, "words", trainer.words());
    if (trainer.detector()) add_network(tensors, "detector", *trainer.detector());

    const TrainingFields fields = {trainer.plan().hidden_dropout, trainer.plan().attention_dropout,
                                   trainer.plan().deviation};
    ModelFolder model = {trainer.words().config, fields, run_.vocabulary().files, readme, {}};
    const FolderFile state = {kTrainingState, [&](const ByteSink& sink) {
                                  write_safetensors(sink, tensors, {{"training", description.dump()}});
                              }};
    model.fields.architecture = masked_word_class(model.config);
    if (!trainer.detector()) {
        model.more.push_back(state);
        write_model_folder(folder_, model, trainer.words().values);
        return;
    }
    ModelFolder detector = model;
    detector.config = trainer.detector()->config;
    detector.fields.architecture = "DebertaV2Model";  // its head is no class of transformers
    detector.more.push_back(state);
    model.readme =
        "# The generator of a DeBERTa model trained by Locus\n\nThe README.md of the folder above says how both were "
        "trained.\n\nTransformers opens this folder as `" +
        model.fields.architecture + "`.\n";
    const Parameters<float> detected = trainer.detector_values();
    std::vector<FolderFile> files = model_files(detector, detected);
    for (FolderFile& file : model_files(model, trainer.words().values))
        files.push_back({"generator/" + file.name, std::move(file.write)});
    write_atomic_folder(folder_, files);
}

void TrainingFolder::resume() {
    const std::filesystem::path path = folder_ / kTrainingState;
    const TensorFile file = open_state(folder_);
    const nlohmann::json description = parse_description(description_in(file), path);
    check_setting(description["setting"], Json::parse(setting_), folder_);

    // Everything is read before anything is moved, so that a damaged file leaves the run as it was.
    Trainer& trainer = run_.trainer();
    SavedNetwork words = read_network(file, path, "words", trainer.words()), detector;
    if (trainer.detector()) detector = read_network(file, path, "detector", *trainer.detector());
    const auto step = description["step"].get<Index>();
    run_.batches().resume({description["epoch"].get<std::uint64_t>(), description["batch"].get<std::uint64_t>()});
    trainer.set_steps(description["steps"].get<Index>());
    restore_network(trainer.words(), std::move(words), step);
    if (trainer.detector()) restore_network(*trainer.detector(), std::move(detector), step);
    trainer.restore(step);
}

}  // namespace locus

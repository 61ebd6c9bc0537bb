// A training on disk, and how it goes on.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"
#include "core/text/corpus/position_grammar.h"
#include "core/training/parameters.h"
#include "core/training/training_run.h"
#include "tests/run_program.h"

namespace locus::test::test_training_folder {

using Catch::Matchers::Contains;

namespace {

/// A training so small that a step takes milliseconds.
struct Small {
    TemporaryFolder folder;
    TrainingTask task;
    ThreadPool pool{1};

    explicit Small(Objective objective = Objective::masked_words) {
        std::string text;
        for (const std::string& sentence : position_sentences(11, 60)) text += sentence + "\n";
        task.corpus = write_bytes(folder / "corpus.txt", text);
        task.config = small_training_config();
        task.config.hidden_size = task.config.embedding_size = 16;
        task.config.num_attention_heads = 2;
        task.config.attention_head_size = 8;
        task.config.num_hidden_layers = 2;
        task.config.intermediate_size = 24;
        task.batch_tokens = 128;
        task.plan.objective = objective;
        task.plan.steps = 40;
        task.plan.warmup = 5;
        if (objective == Objective::masked_words) task.plan.sift = SiftSettings{};
        fs::create_directory(folder / "words");
    }
    std::unique_ptr<TrainingRun> run() { return std::make_unique<TrainingRun>(task, folder / "words", pool); }
    fs::path out() const { return folder / "model"; }
};

void steps(TrainingRun& run, int count) {
    for (int n = 0; n < count; ++n) run.step();
}

bool same(const Parameters<float>& a, const Parameters<float>& b) {
    return a.size() == b.size() && (a.numbers().array() == b.numbers().array()).all();
}

bool same(const TrainedNetwork& a, const TrainedNetwork& b) {
    return same(a.values, b.values) && same(a.optimiser.first(), b.optimiser.first()) &&
           same(a.optimiser.second(), b.optimiser.second()) && a.optimiser.steps() == b.optimiser.steps();
}

}  // namespace

TEST_CASE("training folder: a training that goes on makes the numbers of one that never stopped", "[training_folder]") {
    for (const Objective objective : {Objective::masked_words, Objective::replaced_tokens}) {
        Small small(objective);
        const auto whole = small.run(), first = small.run(), second = small.run();
        steps(*whole, 25);
        steps(*first, 13);
        TrainingFolder(small.out(), *first).save("# A model\n");
        CHECK(holds_training(small.out()));
        TrainingFolder(small.out(), *second).resume();
        CHECK(second->trainer().steps() == 13);
        steps(*second, 12);
        CHECK(second->batches().place() == whole->batches().place());
        CHECK(same(second->trainer().words(), whole->trainer().words()));
        REQUIRE(second->trainer().detector().has_value() == (objective == Objective::replaced_tokens));
        if (second->trainer().detector()) CHECK(same(*second->trainer().detector(), *whole->trainer().detector()));
    }
}

TEST_CASE("training folder: the model in it is the one that was trained", "[training_folder]") {
    Small small;
    const auto run = small.run();
    steps(*run, 3);
    TrainingFolder(small.out(), *run).save("# A model\n");
    const Checkpoint checkpoint = open_checkpoint(small.out());
    const DebertaConfig config = parse_deberta_config(checkpoint.config_json, "config.json");
    CHECK(same(read_parameters<float>(masked_language_tensors(config, true), *checkpoint.weights),
               run->trainer().words().values));
    CHECK(open_tokenizer(small.out())->mask_id() == config.vocab_size - 1);
    CHECK(small.folder.count() == 3);  // corpus, words, model
}

TEST_CASE("training folder: of replaced tokens, both networks can be opened", "[training_folder]") {
    Small small(Objective::replaced_tokens);
    const auto run = small.run();
    steps(*run, 3);
    for (int n = 0; n < 2; ++n) TrainingFolder(small.out(), *run).save("");
    const Checkpoint detector = open_checkpoint(small.out()), generator = open_checkpoint(small.out() / "generator");
    const auto values = run->trainer().detector_values();
    CHECK(same(read_parameters<float>({{kWordTable, values.entry(kWordTable).shape}}, *detector.weights),
               read_parameters<float>({{kWordTable, values.entry(kWordTable).shape}},
                                      *weights_of(std::make_shared<const Parameters<float>>(values), "run"))));
    const DebertaConfig config = parse_deberta_config(generator.config_json, "config.json");
    CHECK(same(read_parameters<float>(masked_language_tensors(config, true), *generator.weights),
               run->trainer().words().values));
    CHECK_THAT(detector.config_json, Contains("\"DebertaV2Model\""));
}

TEST_CASE("training folder: of replaced tokens, both models are written or none", "[training_folder][bad]") {
    Small small(Objective::replaced_tokens);
    const auto run = small.run();
    steps(*run, 1);
    TrainingFolder training(small.out(), *run);
    // Where no generator can be, there is no discriminator either.
    fs::create_directory(small.out());
    write_bytes(small.out() / "generator", "a file");
    CHECK(refusal([&] { training.save("# Both\n"); }) ==
          (small.out() / "generator").string() + ": cannot be written: Not a directory");
    CHECK(listing(small.out()) == std::vector<std::string>{"generator"});
    fs::remove(small.out() / "generator");
    training.save("# Both\n");
    // What somebody laid beside the generator stays there.
    write_bytes(small.out() / "generator/notes.txt", "mine");
    fs::create_directory(small.out() / "generator/looks");
    write_bytes(small.out() / "generator/looks/a.png", "a");
    steps(*run, 1);
    training.save("# Both\n");
    CHECK(read_bytes(small.out() / "generator/notes.txt") == "mine");
    CHECK(read_bytes(small.out() / "generator/looks/a.png") == "a");
    CHECK_THAT(read_bytes(small.out() / "generator/README.md"), Contains("# The generator of"));
    CHECK(small.folder.count() == 3);  // corpus, words, model
}

TEST_CASE("training folder: its task is what a training was begun with", "[training_folder]") {
    for (const Objective objective : {Objective::masked_words, Objective::replaced_tokens}) {
        Small small(objective);
        TrainingPlan& plan = small.task.plan;
        plan.warmup_follows = objective == Objective::masked_words;
        small.task.pieces = 70;
        small.task.batch_tokens = 99;
        small.task.heldout = 0.125;
        small.task.masking.max_gram = 3;
        plan.switches.decoder = objective == Objective::masked_words;
        plan.hidden_dropout = 0.25;
        plan.attention_dropout = 0.375;
        plan.rate = 0.0625;
        plan.warmup = 7;
        plan.seed = 0xfedcba9876543210;
        const auto run = small.run();
        steps(*run, 2);
        run->trainer().set_steps(3);
        run->trainer().set_steps(44);  // the warm-up that was wished for outlives a run that was shorter
        TrainingFolder(small.out(), *run).save("");
        const TrainingTask found = saved_task(small.out());
        CHECK(found.corpus.empty());
        CHECK(deberta_config_json(found.config) == deberta_config_json(run->task().config));
        CHECK((found.pieces == 70 && found.batch_tokens == 99 && found.heldout == 0.125));
        CHECK((found.masking.max_gram == 3 && found.plan.objective == objective));
        CHECK(found.plan.sift.has_value() == plan.sift.has_value());
        CHECK(found.plan.switches.decoder == plan.switches.decoder);
        CHECK((found.plan.hidden_dropout == 0.25 && found.plan.attention_dropout == 0.375));
        CHECK((found.plan.rate == 0.0625 && found.plan.warmup == 7 && found.plan.steps == 44));
        CHECK(found.plan.seed == 0xfedcba9876543210);
        CHECK(found.plan.warmup_follows == plan.warmup_follows);
    }
}

TEST_CASE("training folder: a training with other settings is not gone on with", "[training_folder][bad]") {
    Small small;
    const auto run = small.run();
    steps(*run, 2);
    TrainingFolder(small.out(), *run).save("");
    const auto sentence = [&](auto change) {
        const TrainingTask kept = small.task;
        change(small.task);
        const auto other = small.run();
        small.task = kept;
        return refusal([&] { TrainingFolder(small.out(), *other).resume(); }, Fault::usage);
    };
    const std::string begin = small.out().string() + ": the training there has ",
                      end = "; go on with the same settings, or write to another folder";
    CHECK(sentence([](TrainingTask& task) { task.config.num_hidden_layers = 3; }) ==
          begin + "num_hidden_layers 2, this one 3" + end);
    CHECK(sentence([](TrainingTask& task) { task.plan.rate = 0.5; }) == begin + "rate 0.001, this one 0.5" + end);
    CHECK(sentence([](TrainingTask& task) { task.plan.seed = 2; }) == begin + "seed 1, this one 2" + end);
    CHECK(sentence([](TrainingTask& task) { task.plan.sift.reset(); }) == begin + "sift true, this one false" + end);
    CHECK_THAT(sentence([&](TrainingTask& task) {
                   task.corpus = write_bytes(small.folder / "other.txt", read_bytes(task.corpus) + "tom met tom\n");
               }),
               Contains("has corpus \""));
}

TEST_CASE("training folder: a state that is missing, cut or none is named, and the run stays as it was",
          "[training_folder][bad]") {
    Small small;
    const auto run = small.run();
    steps(*run, 2);
    TrainingFolder training(small.out(), *run);
    CHECK(refusal([&] { training.resume(); }) ==
          small.out().string() + ": holds no training to go on with, expected training_state.safetensors");
    training.save("");
    const fs::path state = small.out() / kTrainingState;
    const std::string bytes = read_bytes(state);
    steps(*run, 1);
    const Parameters<float> before = run->trainer().words().values;
    const auto sentence = [&](const std::string& damaged) {
        write_bytes(state, damaged);
        return refusal([&] { training.resume(); });
    };
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{5}, std::size_t{300}, bytes.size() / 2, bytes.size() - 1})
        CHECK_THAT(sentence(bytes.substr(0, size)), Contains(state.string()));
    std::string other = bytes;
    other.replace(other.find("locus-training-1"), 16, "locus-training-9");
    CHECK(sentence(other) ==
          state.string() + ": says nothing of a training in its metadata, expected locus-training-1");
    other = bytes;
    other.replace(other.find("words.second"), 12, "words.sekond");
    CHECK(sentence(other) == state.string() + ": has no tensor words.second of " + std::to_string(before.size()) +
                                 " numbers in F32, the state of a training");
    // Numbers that --max-gram refuses; the header that says them is as long as its first eight bytes say.
    other = bytes;
    const std::string gram = "\\\"masking.max_gram\\\":1";
    REQUIRE(other.find(gram) != std::string::npos);
    other.insert(other.find(gram) + gram.size(), "00000000");
    std::uint64_t header = 0;
    std::memcpy(&header, other.data(), sizeof header);
    header += 8;
    std::memcpy(other.data(), &header, sizeof header);
    write_bytes(state, other);
    CHECK_THAT(refusal([&] { saved_task(small.out()); }), Contains("masking.max_gram is 100000000, expected a whole"));
    // Nested deeper than any setting: printed, it would cost the stack.
    const std::size_t setting = bytes.find("\\\"setting\\\":{") + 13, deep = 500'000;
    other = bytes;
    other.insert(setting, "\\\"deep\\\":" + std::string(deep, '[') + std::string(deep, ']') + ",");
    std::memcpy(&header, bytes.data(), sizeof header);
    header += 2 * deep + 10;
    std::memcpy(other.data(), &header, sizeof header);
    write_bytes(state, other);
    CHECK_THAT(refusal([&] { saved_task(small.out()); }), Contains("the JSON nests deeper than 64"));
    CHECK_THAT(sentence(other), Contains("the JSON nests deeper than 64"));
    // A run of no steps, a setting without a value.
    other = bytes;
    const std::size_t count = other.find("\\\"steps\\\":40");
    REQUIRE(count != std::string::npos);
    other.replace(count, 12, "\\\"steps\\\": 0");
    CHECK_THAT(sentence(other), Contains("says nothing of a training"));
    other = bytes;
    const std::string format = "\\\"locus-training-1\\\"";
    other.replace(other.find(format), format.size(), std::string(format.size() - 1, ' ') + "1");  // a number
    CHECK_THAT(sentence(other), Contains("says nothing of a training"));
    for (const char* name : {"seed", "rate", "warmup", "objective"}) {
        INFO(name);
        other = bytes;
        const std::string key = std::string("\\\"") + name + "\\\":";
        const std::size_t at = other.find(key);
        REQUIRE(at != std::string::npos);
        other[at + 2] = '_';  // another name
        write_bytes(state, other);
        if (name != std::string("rate") && name != std::string("warmup"))  // they have defaults
            CHECK_THAT(refusal([&] { saved_task(small.out()); }),
                       Contains(state.string()) && Contains(name) && Contains("expected"));
        CHECK_THAT(refusal([&] { training.resume(); }, Fault::usage), Contains(std::string("has ") + name + " none"));
    }
    CHECK(same(run->trainer().words().values, before));
    CHECK(run->trainer().steps() == 3);
    CHECK(run->trainer().plan().steps == 40);
    write_bytes(state, bytes);
    training.resume();
    CHECK(run->trainer().steps() == 2);
}

}  // namespace locus::test::test_training_folder

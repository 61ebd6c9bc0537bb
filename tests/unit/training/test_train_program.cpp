// locus train, as a user runs it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/io/safetensors.h"
#include "core/training/training_run.h"
#include "tests/unit/training/train_place.h"

namespace locus::test::test_train_program {

using Catch::Matchers::Contains;

namespace {

/// Starts a training, presses Ctrl+C as soon as it says that steps are being made, and returns how it ended.
int interrupt_early(const Place& place, std::vector<std::string> more) {
    const fs::path log = place.folder / "log";
    more.push_back("--json");
    std::vector<std::string> words = place.arguments(more);
    words.insert(words.begin(), (fs::path(LOCUS_BINARY_DIR) / "bin/locus-train").string());
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    const ::pid_t child = ::fork();
    if (child == 0) {
        if (!std::freopen(log.c_str(), "w", stdout)) ::_exit(9);
        ::execv(raw[0], raw.data());
        ::_exit(9);
    }
    for (int n = 0; n < 6000 && (!fs::exists(log) || fs::file_size(log) == 0); ++n)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(child, SIGINT);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("train: a text file becomes a folder that the other verbs open", "[cli][train]") {
    const Place place;
    const Outcome outcome = place.train({"--steps", "20", "--dropout", "0"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK_THAT(outcome.out, Contains("80 sentences of up to ") && Contains("step 20/20  loss ") &&
                                Contains(" tokens/s  ") && Contains("done after 20 steps in ") &&
                                Contains("masked-word loss on sentences never seen: ") &&
                                Contains("the model is in " + place.out.string()));
    CHECK(listing(place.out) == std::vector<std::string>{"README.md", "added_tokens.json", "config.json",
                                                         "model.safetensors", "spm.model", "tokenizer_config.json",
                                                         "training_state.safetensors"});
    CHECK(place.folder.count() == 3);
    const Place again;
    CHECK(again.train({"--steps", "1", "--config", (place.out / "config.json").string()}).status == 0);
    CHECK(run("locus-fill", {"--model", place.out.string(), "tom gave the [MASK] to lucy."}).status == 0);
    CHECK(run("locus-trace", {"--model", place.out.string(), "--text", "tom gave"}).status == 0);
}

TEST_CASE("train: Ctrl+C saves, and --resume goes on to the same end, to the last bit", "[cli][train]") {
    for (const std::vector<std::string>& kind :
         {std::vector<std::string>{"--steps", "300", "--sift"}, {"--steps", "300", "--objective", "rtd"}}) {
        const Place whole, broken;
        REQUIRE(whole.train(kind).status == 0);
        REQUIRE(interrupt_early(broken, kind) == 0);
        CHECK(holds_training(broken.out));
        CHECK((whole.weights() != broken.weights()));
        std::vector<std::string> resume = kind;
        resume.push_back("--resume");
        const Outcome resumed = broken.train(resume);
        INFO(resumed.err);
        CHECK(resumed.status == 0);
        CHECK(resumed.out.find("the learning rate now") == std::string::npos);
        CHECK((whole.weights() == broken.weights()));
    }
}

TEST_CASE("train: --resume needs no setting said again, and a longer run keeps its warm-up", "[cli][train]") {
    for (const std::vector<std::string>& kind :
         {std::vector<std::string>{"--steps", "12", "--sift", "--rate", "0.002", "--seed", "7", "--no-emd"},
          {"--steps", "12", "--objective", "rtd", "--warmup", "9", "--heldout", "0.1", "--dropout", "0.2"},
          {"--steps", "12", "--vocab", "80", "--max-gram", "3"}}) {
        const Place said, first;
        REQUIRE(said.train(kind).status == 0);
        REQUIRE(first.train(kind).status == 0);
        std::vector<std::string> longer = kind;
        longer[1] = "30";
        longer.emplace_back("--resume");
        if (std::find(kind.begin(), kind.end(), "--warmup") == kind.end())
            longer.insert(longer.end(), {"--warmup", "1"});  // a tenth of the first run's steps
        CHECK(said.train(longer).status == 0);
        const std::string readme = read_bytes(first.out / "README.md");
        CHECK_THAT(readme, Contains("\nlocus train --resume --out model --corpus corpus.txt\n"));
        const Outcome resumed = run("locus-train", {"--resume", "--out", first.out.string(), "--corpus",
                                                    first.corpus.string(), "--steps", "30", "--threads", "1"});
        INFO(resumed.err);
        CHECK(resumed.status == 0);
        CHECK_THAT(resumed.out, Contains("; from step 12"));
        CHECK_THAT(resumed.out, Contains("the learning rate now falls to 0 at step 30"));
        CHECK((first.weights() == said.weights()));
    }
    const Place place;
    CHECK(interrupt_early(place, {"--steps", "300"}) == 0);
    CHECK_THAT(run("locus-train", {"--resume", "--out", place.out.string()}).err, Contains("has corpus \""));
}

TEST_CASE("train: the commands that go on with a training do so, from the folder's README and from the terminal",
          "[cli][train]") {
    const TemporaryFolder folder;
    fs::create_directories(folder / "my text's");
    std::string text;
    for (const std::string& sentence : position_sentences(21, 80)) text += sentence + "\n";
    write_bytes(folder / "my text's/corpus.txt", text);
    write_bytes(folder / "config.json", kTiny);
    const std::string program = quoted(LOCUS_BINARY_DIR "/bin/locus-train"),
                      in = "cd " + quoted(folder.path().string());
    const auto shell = [](const std::string& line) { return run_file("/bin/sh", {"-c", line}); };
    // --foreground: else timeout sends its signal twice, and the second one ends a training at once.
    const Outcome first = shell(in + " && timeout --foreground --preserve-status -s INT 3 " + program +
                                " --corpus \"my text's/corpus.txt\" --out \"my models/the first\" --config config.json "
                                "--steps 600000 --threads 1");
    INFO(first.err << first.out);
    const auto command_in = [](const std::string& from, const std::string& start) {
        const std::size_t at = from.find(start);
        REQUIRE(at != std::string::npos);
        const std::size_t begin = at + start.size();
        return from.substr(begin, from.find('\n', begin) - begin);
    };
    const std::string readme = read_bytes(folder / "my models/the first/README.md");
    const std::string words = command_in(readme, "\nlocus train ");
    CHECK(words == "--resume --out 'the first' --corpus '../my text'\\''s/corpus.txt'");
    const auto goes_on = [&](const std::string& where, const std::string& what) {
        const Outcome again = shell(where + " && timeout --foreground --preserve-status -s INT 2 " + program + " " +
                                    what + " --threads 1");
        INFO(what << again.err);
        CHECK(again.status == 0);
        CHECK_THAT(again.out, Contains("; from step "));
    };
    goes_on(in + "/'my models'", words);
    goes_on(in, command_in(first.out + first.err, "go on with "));
}

TEST_CASE("train: the time that is given is kept", "[cli][train]") {
    const Place place;
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = place.train({"--minutes", "0.02", "--json"});
    CHECK(outcome.status == 0);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    const std::string last = outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1);
    const auto json = nlohmann::json::parse(last);
    CHECK(json["seconds"].get<double>() >= 1.2);
    CHECK(json["step"].get<int>() > 3);
    CHECK(json["stopped"] == false);
}

TEST_CASE("train: what cannot be done is one sentence, and nothing is left behind", "[cli][train][bad]") {
    const Place place;
    const auto sentence = [&](const std::vector<std::string>& more, int status, const std::string& before = "") {
        const Outcome outcome = place.train(more, before);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        return outcome.err;
    };
    CHECK(sentence({"--objective", "rtd", "--sift", "--steps", "2"}, 2) ==
          "locus train: SiFT goes with the masked-word objective alone\n");
    CHECK_THAT(sentence({"--steps", "2", "--minutes", "1"}, 2), Contains("--minutes"));
    CHECK(sentence({"--resume"}, 3) == "locus train: " + place.out.string() +
                                           ": holds no training to go on with, expected training_state.safetensors\n");
    CHECK_THAT(sentence({"--vocab", "100000"}, 2),
               Contains("a vocabulary of 100000 pieces was asked for, ") && Contains(" gives at most "));
    CHECK_THAT(sentence({"--steps", "2", "--rate", "nan"}, 2), Contains("--rate: \"nan\" is not a number"));
    std::string dropped = kTiny;
    dropped.replace(dropped.find("\"hidden_dropout_prob\": 0.1"), 26, "\"hidden_dropout_prob\": 1.0");
    const fs::path config = write_bytes(place.folder / "dropped.json", dropped);
    CHECK(sentence({"--config", config.string()}, 3) ==
          "locus train: " + config.string() + ": hidden_dropout_prob is 1.0, expected a number from 0 to below 1\n");
    std::string large = kTiny;
    large.replace(large.find("\"intermediate_size\": 24"), 23, "\"intermediate_size\": 2147483647");
    write_bytes(config, large);
    CHECK_THAT(
        sentence({"--config", config.string()}, 4),
        Contains(config.string() + ": a training of this model takes 2267.7 GB of memory, expected at most the ") &&
            Contains("largest tensor is encoder.layer.0.intermediate.dense.weight [2147483647, 16]"));
    fs::remove(config);
    CHECK(place.folder.count() == 2);
    CHECK_FALSE(fs::exists(place.out));

    REQUIRE(place.train({"--steps", "2"}).status == 0);
    const std::string before = place.weights();
    CHECK_THAT(sentence({"--steps", "2"}, 2), Contains("holds a training already; --resume goes on with it"));
    CHECK_THAT(sentence({"--resume", "--steps", "4", "--seed", "5"}, 2), Contains("has seed 1, this one 5"));
    CHECK_THAT(sentence({"--resume", "--steps", "1"}, 2),
               Contains("--steps is 1, but ") && Contains("has made 2 already"));
    CHECK((place.weights() == before));
    // A folder where one of its files belongs stays, and no other folder is left beside the model.
    fs::rename(place.out / "spm.model", place.folder / "spm.model");
    fs::create_directory(place.out / "spm.model");
    CHECK_THAT(sentence({"--resume", "--steps", "4"}, 3),
               Contains((place.out / "spm.model").string() + ": cannot be written: Is a directory"));
    CHECK(place.folder.count() == 4);
    fs::remove(place.out / "spm.model");
    fs::rename(place.folder / "spm.model", place.out / "spm.model");
    write_bytes(place.out / kTrainingState, read_bytes(place.out / kTrainingState).substr(0, 5000));
    CHECK_THAT(sentence({"--resume", "--steps", "4"}, 3), Contains((place.out / kTrainingState).string()));
}

TEST_CASE("train: fresh weights are as wide as initializer_range says, and --resume knows it", "[cli][train]") {
    const Place place, usual;
    std::string narrow = kTiny;
    narrow.insert(narrow.size() - 1, ", \"initializer_range\": 1e-5");
    write_bytes(place.config, narrow);
    const std::vector<std::string> one_step = {"--steps", "1", "--rate", "1e-9", "--warmup", "0"};
    REQUIRE(place.train(one_step).status == 0);
    REQUIRE(usual.train(one_step).status == 0);
    const auto largest = [](const Place& trained) {
        const TensorFile file = open_safetensors(trained.out / "model.safetensors");
        const TensorEntry* entry = file.find("deberta.encoder.layer.0.intermediate.dense.weight");
        REQUIRE(entry != nullptr);
        return read_rows<float>(*entry, 0, entry->shape.front()).array().abs().maxCoeff();
    };
    CHECK(largest(place) < 1e-4F);
    CHECK(largest(usual) > 1e-2F);
    CHECK(nlohmann::json::parse(read_bytes(place.out / "config.json"))["initializer_range"] == 1e-5);
    const Outcome resumed = run("locus-train", {"--corpus", place.corpus.string(), "--out", place.out.string(),
                                                "--resume", "--steps", "2", "--threads", "1"});
    INFO(resumed.err);
    CHECK(resumed.status == 0);
}

TEST_CASE("train: a full disk is one sentence, and the last good model stays", "[cli][train][bad]") {
    const Place place;
    std::string wide = kTiny;  // its files are larger than the vocabulary
    wide.replace(wide.find("\"hidden_size\": 16"), 17, "\"hidden_size\": 256");
    write_bytes(place.config, wide);
    const std::string full = "ulimit -f 800; ",
                      expected = "locus train: " + (place.out / "model.safetensors").string() +
                                 ": cannot be written: File too large\n";
    const Outcome fresh = place.train({"--steps", "2"}, full);
    CHECK(fresh.status == 3);
    CHECK(fresh.err == expected);
    CHECK(place.folder.count() == 2);
    REQUIRE(place.train({"--steps", "2"}).status == 0);
    const std::string before = place.weights();
    const Outcome resumed = place.train({"--steps", "4", "--resume"}, full);
    CHECK(resumed.status == 3);
    CHECK(resumed.err == expected);
    CHECK((place.weights() == before));
    CHECK(place.folder.count() == 3);
}

TEST_CASE("train: a folder of other things is not touched", "[cli][train][bad]") {
    const Place place;
    fs::create_directory(place.out);
    CHECK(place.train({"--steps", "1"}).status == 0);
    const Place other;
    fs::create_directory(other.out);
    write_bytes(other.out / "notes.txt", "notes");
    const Outcome outcome = other.train({"--steps", "1"});
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Contains("is there and not an empty folder, expected a new one"));
    CHECK(listing(other.out) == std::vector<std::string>{"notes.txt"});
}

TEST_CASE("train: a loss that is no number stops, names the stage and keeps the last good model", "[cli][train][bad]") {
    const Place place;
    const Outcome outcome = place.train({"--steps", "200", "--warmup", "0", "--rate", "1e30", "--save-every", "1"});
    CHECK(outcome.status == 4);
    CHECK(outcome.sentences() == 1);
    CHECK_THAT(outcome.err, Contains("is not a number") && Contains(", expected a lower rate than 1e+30; what was"));
    CHECK(holds_training(place.out));
    CHECK(place.folder.count() == 3);
    // The last step of all is not followed by one that sees what it left.
    const Place last;
    const Outcome one = last.train({"--steps", "1", "--warmup", "0", "--rate", "1e38"});
    CHECK(one.status == 4);
    CHECK(one.sentences() == 1);
    CHECK_THAT(one.err, Contains("step 1: the loss on sentences never seen is not a number") &&
                            Contains("a lower rate than 1e+38; what was saved before stays"));
    const Place wild;
    const Outcome weights = wild.train({"--steps", "1", "--warmup", "0", "--rate", "1e300"});
    CHECK(weights.status == 4);
    CHECK_THAT(weights.err, Contains("step 1: ") && Contains(".weight is not a number"));
    CHECK(run("locus-fill", {"--model", last.out.string(), "tom gave the [MASK] to lucy."}).status == 0);
}

TEST_CASE("train: a corpus that cannot be learnt from is one sentence, a long line is cut and said so",
          "[cli][train][bad]") {
    const Place place;
    const auto refused = [&](const std::string& text, const std::string& named) {
        write_bytes(place.corpus, text);
        const Outcome outcome = place.train({"--steps", "1"});
        INFO(outcome.err);
        CHECK(outcome.status != 0);
        CHECK(outcome.sentences() == 1);
        CHECK_THAT(outcome.err, Contains(place.corpus.string()) && Contains(named));
        CHECK_FALSE(fs::exists(place.out));
    };
    refused("", "holds no word");
    refused("word\n", "word");
    refused(std::string("a\0b", 3) + "\n", "NUL");
    fs::remove(place.corpus);
    CHECK_THAT(place.train({"--steps", "1"}).err, Contains(place.corpus.string()));

    std::string line;
    while (line.size() < 500'000) line += "tom gave the letter to lucy, and lucy gave it to ben. ";
    write_bytes(place.corpus, line + "\n");
    const Outcome outcome = place.train({"--steps", "1"});
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.out,
               Contains("long lines were cut ") && Contains(" times, into sentences of at most 64 tokens"));
}

TEST_CASE("train: --ablate prints five models with their losses, and keeps none", "[cli][train]") {
    const Place place;
    const std::vector<std::string> tiny = {"--corpus",
                                           place.corpus.string(),
                                           "--config",
                                           place.config.string(),
                                           "--batch-tokens",
                                           "128",
                                           "--threads",
                                           "1",
                                           "--heldout",
                                           "0.2",
                                           "--ablate",
                                           "--steps",
                                           "2",
                                           "--seeds",
                                           "2"};
    const Outcome table = run("locus-train", tiny);
    INFO(table.err);
    REQUIRE(table.status == 0);
    CHECK_THAT(table.out, Contains("all terms") && Contains("without the mask decoder") && Contains("without c2p ") &&
                              Contains("without p2c ") && Contains("without c2p and p2c") && Contains("\u00b1 ") &&
                              Contains("2 steps of 128 tokens") && Contains(", 2 seeds; ") &&
                              Contains("It does not show"));
    std::vector<std::string> more = tiny;
    more.back() = "1";
    const std::string alone = run("locus-train", more).out;
    CHECK_THAT(alone,
               Contains("one seed") && Contains(", 1 seed; ") && !Contains("within the spread"));  // one loss has none
    more = tiny;
    more.push_back("--json");
    const auto json = nlohmann::json::parse(run("locus-train", more).out);
    REQUIRE(json["models"].size() == 5);
    for (const auto& model : json["models"]) {
        REQUIRE(model["losses"].size() == 2);
        const double mean = (model["losses"][0].get<double>() + model["losses"][1].get<double>()) / 2;
        CHECK(std::abs(model["mean"].get<double>() - mean) <= 1e-12);
    }
    more.back() = "--resume";
    CHECK(run("locus-train", more).status == 2);
    CHECK(run("locus-train", {"--steps", "2"}).err ==
          "locus train: --out is missing, expected a folder for the model (or --ablate)\n");
    CHECK(place.folder.count() == 2);
}

}  // namespace locus::test::test_train_program

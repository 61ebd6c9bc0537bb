// locus train where a user meets its edges: folders and links, time, signals, and settings that do not go together.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/training/training_run.h"
#include "tests/unit/training/train_place.h"

namespace locus::test::test_train_cases {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

namespace {

const std::string kProgram = LOCUS_BINARY_DIR "/bin/locus-train";

Outcome shell(const std::string& line) { return run_file("/bin/sh", {"-c", line}); }

std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
    return lines;
}

/// The tiny shape with a field added, or with another value.
fs::path write_config(const Place& place, const Json& changes) {
    Json config = Json::parse(kTiny);
    config.update(changes);
    return write_bytes(place.config, config.dump());
}

std::string command_in(const fs::path& readme) {
    const std::string text = read_bytes(readme), start = "\nlocus train ";
    const std::size_t at = text.find(start);
    REQUIRE(at != std::string::npos);
    return text.substr(at + start.size(), text.find('\n', at + 1) - at - start.size());
}

}  // namespace

TEST_CASE("train: the README's command goes on through many saves, and the folder of the model is never stood in",
          "[cli][train]") {
    for (const char* objective : {"mlm", "rtd"}) {
        INFO(objective);
        const Place place;
        REQUIRE(place.train({"--steps", "2", "--objective", objective}).status == 0);
        const std::string above = "cd " + quoted(place.folder.path().string()) + " && ",
                          inside = "cd " + quoted(place.out.string()) + " && ",
                          command = quoted(kProgram) + " " + command_in(place.out / "README.md");
        CHECK(command_in(place.out / "README.md") == "--resume --out model --corpus corpus.txt");
        const Outcome on = shell(above + command + " --steps 6 --save-every 1 --threads 1");
        INFO(on.err);
        CHECK(on.status == 0);
        const std::string before = place.weights();
        for (const std::string& name : {std::string("."), std::string("../model"), place.out.string()}) {
            const Outcome refused =
                shell(inside + quoted(kProgram) + " --resume --corpus ../corpus.txt --steps 9 --out " + quoted(name));
            CHECK(refused.status == 2);
            CHECK(refused.err == "locus train: " + name +
                                     ": is or holds the folder that this command runs in, and is replaced as a "
                                     "whole; expected a command that runs in " +
                                     fs::canonical(place.folder.path()).string() + " and names model\n");
        }
        CHECK((place.weights() == before));
        fs::create_directory(place.folder / "new");
        CHECK(shell("cd " + quoted((place.folder / "new").string()) + " && " + quoted(kProgram) +
                    " --corpus ../corpus.txt --steps 1 --out . && pwd -P")
                  .status == 2);
        CHECK(fs::is_empty(place.folder / "new"));
    }
}

TEST_CASE("train: through a link, the README's command stands beside the folder behind it", "[cli][train]") {
    const Place place;
    fs::create_directories(place.folder / "deep/x/-y");
    fs::create_directories(place.folder / "texts/real");
    fs::create_directory_symlink(place.folder / "deep/x/-y", place.folder / "lk");
    fs::create_directory_symlink(place.folder / "texts/real", place.folder / "lt");
    fs::rename(place.corpus, place.folder / "texts/real/c.txt");
    const std::string here = "cd " + quoted(place.folder.path().string()) + " && " + quoted(kProgram);
    const Outcome first = shell(here + " --corpus lt/c.txt --config config.json --out lk/ --steps 2 --threads 1");
    INFO(first.err);
    REQUIRE(first.status == 0);
    const std::string words = command_in(place.folder / "deep/x/-y/README.md");
    CHECK(words == "--resume --out ./-y --corpus ../../texts/real/c.txt");
    const Outcome on = shell("cd " + quoted((place.folder / "deep/x").string()) + " && " + quoted(kProgram) + " " +
                             words + " --steps 3 --threads 1");
    INFO(on.err);
    CHECK(on.status == 0);
    CHECK(fs::is_symlink(place.folder / "lk"));
}

TEST_CASE("train: a warm-up that nobody asks for suits the steps that fit into the time", "[cli][train]") {
    const Place place;
    write_config(place, {{"hidden_size", 384}, {"intermediate_size", 1536}});  // some dozens of steps
    const Outcome outcome = place.train({"--minutes", "0.05", "--json"});
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.status == 0);
    int later = 0;  // lines after the time a step takes is known
    for (const Json& line : lines_of(outcome.out)) {
        if (!line.contains("rate")) continue;
        const double steps = line["steps"].get<double>(), made = line["step"].get<double>() - 1,
                     warmup = std::min(100.0, std::floor(steps / 10));
        INFO(line);
        CHECK(line["rate"].get<double>() ==
              Approx(1e-3 * (made < warmup ? (made + 1) / warmup : (steps - made) / (steps - warmup))));
        later += steps < 1000;
    }
    CHECK(later > 0);
    const TrainingTask task = saved_task(place.out);
    CHECK(task.plan.warmup_follows);
    // One that was wished for stays, and so does that of a run by steps.
    const Place wished, by_steps;
    REQUIRE(wished.train({"--minutes", "0.01", "--warmup", "7"}).status == 0);
    CHECK((!saved_task(wished.out).plan.warmup_follows && saved_task(wished.out).plan.warmup == 7));
    REQUIRE(by_steps.train({"--steps", "40"}).status == 0);
    CHECK((!saved_task(by_steps.out).plan.warmup_follows && saved_task(by_steps.out).plan.warmup == 4));
    CHECK(read_bytes(by_steps.out / kTrainingState).find("warmup_follows") == std::string::npos);
}

TEST_CASE("train: a finished training that is given time learns from its first step on", "[cli][train]") {
    const Place place;
    REQUIRE(place.train({"--steps", "40"}).status == 0);
    const Outcome outcome = place.train({"--resume", "--minutes", "0.01", "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Json first = lines_of(outcome.out).front();
    CHECK(first["step"] == 41);
    CHECK(first["steps"].get<int>() > 41);
    CHECK(first["rate"].get<double>() > 0.1e-3);
}

TEST_CASE("train: a share that holds out nobody is said, and is no number in JSON", "[cli][train]") {
    const Place place;
    const Outcome said = place.train({"--steps", "1", "--heldout", "0.004"});
    CHECK(said.status == 0);
    CHECK_THAT(said.out,
               Contains("no sentence is held out, so there is no loss on sentences never seen: --heldout 0.004 of "
                        "80 sentences is none\n"));
    CHECK_THAT(said.out, !Contains("nan"));
    const Place json;
    const Outcome outcome = json.train({"--steps", "1", "--heldout", "0.004", "--json"});
    CHECK(lines_of(outcome.out).back()["heldout_loss"].is_null());
    const Place known;
    CHECK_THAT(known.train({"--steps", "1", "--heldout", "0"}).out, !Contains("no sentence is held out"));
}

TEST_CASE("train: --json says a name that is not UTF-8 as far as JSON can", "[cli][train]") {
    const Place place;
    const std::string name = place.folder.path().string() + "/m\xff";
    const Outcome outcome = run("locus-train", {"--corpus", place.corpus.string(), "--config", place.config.string(),
                                                "--out", name, "--steps", "1", "--threads", "1", "--json"});
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK_THAT(lines_of(outcome.out).back()["out"].get<std::string>(), Catch::EndsWith("/m\ufffd"));
    CHECK(holds_training(name));
}

TEST_CASE("train: n-grams go with masked words alone", "[cli][train][bad]") {
    const Place place;
    const Outcome outcome = place.train({"--steps", "1", "--objective", "rtd", "--max-gram", "3"});
    CHECK(outcome.status == 2);
    CHECK(outcome.err ==
          "locus train: --max-gram goes with --objective mlm: of replaced tokens, the generator masks words one by "
          "one\n");
    CHECK_FALSE(fs::exists(place.out));
}

TEST_CASE("train: --config names a shape; its vocabulary is another one's", "[cli][train]") {
    for (const Json& size : {Json(0), Json("many"), Json(-7), Json(nullptr)}) {
        INFO(size);
        const Place place;
        write_config(place, {{"vocab_size", size}, {"pad_token_id", 5}});
        const Outcome outcome = place.train({"--steps", "1"});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        const Json written = Json::parse(read_bytes(place.out / "config.json"));
        CHECK(written["pad_token_id"] == 0);
        CHECK(written["vocab_size"].get<int>() > 5);
    }
}

TEST_CASE("train: a folder says which class of transformers opens it", "[cli][train]") {
    const auto written = [](const Place& place, const Json& changes) {
        write_config(place, changes);
        const Outcome outcome = place.train({"--steps", "1"});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        return Json::parse(read_bytes(place.out / "config.json"));
    };
    const Place narrow, plain;
    CHECK(written(narrow, {{"position_biased_input", true}, {"embedding_size", 8}})["architectures"][0] ==
          "DebertaV2Model");
    CHECK_THAT(read_bytes(narrow.out / "README.md"),
               Contains("opens the folder as `DebertaV2Model`: its masked-word head knows no embedding_size that is "
                        "not hidden_size."));
    const Json config = written(plain, {{"relative_attention", false}, {"position_biased_input", true}});
    CHECK(config["architectures"][0] == "DebertaV2ForMaskedLM");
    CHECK(config["norm_rel_ebd"] == "none");  // there is no table to norm, and no weights of that norm
}

TEST_CASE("train: of replaced tokens, a generator that cannot be written leaves both models as they were",
          "[cli][train][bad]") {
    const Place place;
    REQUIRE(place.train({"--steps", "2", "--objective", "rtd"}).status == 0);
    const std::string before = place.weights(), state = read_bytes(place.out / kTrainingState);
    fs::rename(place.out / "generator/spm.model", place.folder / "spm.model");
    fs::create_directory(place.out / "generator/spm.model");
    const Outcome outcome = place.train({"--steps", "4", "--resume"});
    CHECK(outcome.status == 3);
    CHECK(outcome.err ==
          "locus train: " + (place.out / "generator/spm.model").string() + ": cannot be written: Is a directory\n");
    CHECK((place.weights() == before && read_bytes(place.out / kTrainingState) == state));
    CHECK(place.folder.count() == 4);
    CHECK_THAT(read_bytes(place.out / "generator/README.md"),
               Contains("# The generator of") && Contains("`DebertaV2ForMaskedLM`") && !Contains("locus train"));
}

TEST_CASE("train: what ends a program takes its temporary files along", "[cli][train]") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        for (const bool ablate : {true, false}) {
            INFO(signal << (ablate ? " --ablate" : ""));
            const Place place;
            const fs::path temporary = place.folder / "tmp";
            fs::create_directory(temporary);
            std::vector<std::string> words = {
                kProgram,  "--corpus", place.corpus.string(), "--config", place.config.string(), "--threads", "1",
                "--steps", "100000"};
            if (ablate)
                words.insert(words.end(), {"--ablate", "--heldout", "0.2"});
            else
                words.insert(words.end(), {"--out", place.out.string()});
            std::vector<char*> raw;
            for (std::string& word : words) raw.push_back(word.data());
            raw.push_back(nullptr);
            const fs::path said = place.folder / "said";
            const ::pid_t child = ::fork();
            if (child == 0) {
                ::setenv("TMPDIR", temporary.c_str(), 1);
                if (!std::freopen(said.c_str(), "w", stdout) || !std::freopen("/dev/null", "w", stderr)) ::_exit(9);
                ::execv(raw[0], raw.data());
                ::_exit(9);
            }
            for (int n = 0; n < 60000 && fs::is_empty(temporary); ++n)
                std::this_thread::sleep_for(std::chrono::microseconds(500));
            ::kill(child, signal);
            int status = 0;
            REQUIRE(::waitpid(child, &status, 0) == child);
            CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
            CHECK(fs::is_empty(temporary));
            CHECK_THAT(read_bytes(said), Contains(ablate ? "stopped after 0 of 15 runs\n" : "stopped after "));
            if (ablate) CHECK_THAT(read_bytes(said), Contains(", stopped before the first of them ended; "));
        }
}

TEST_CASE("train: a place for temporary files that is none is named", "[cli][train][bad]") {
    const Place place;
    const Outcome outcome = place.train({"--steps", "1"}, "export TMPDIR=/nowhere/at/all; ");
    CHECK(outcome.status == 3);
    CHECK_THAT(outcome.err, Contains("/nowhere/at/all: is no folder for temporary files: "));
    CHECK(outcome.sentences() == 1);
}

TEST_CASE("train: --ablate judges by sentences that are there, and by numbers", "[cli][train][bad]") {
    const Place place;
    const auto refused = [&](const std::vector<std::string>& more, int status) {
        std::vector<std::string> all = {"--corpus",  place.corpus.string(),
                                        "--config",  place.config.string(),
                                        "--threads", "1",
                                        "--ablate",  "--batch-tokens",
                                        "128",       "--json"};
        all.insert(all.end(), more.begin(), more.end());
        const Outcome outcome = run("locus-train", all);
        CHECK(outcome.status == status);
        CHECK(outcome.out.empty());
        CHECK(outcome.sentences() == 1);
        return outcome.err;
    };
    CHECK(refused({"--steps", "1", "--heldout", "0.004"}, 2) ==
          "locus train: heldout is 0.004, which is none of the 80 sentences of " + place.corpus.string() +
              ", expected a larger share or more sentences to judge the models by\n");
    for (const char* rate : {"1e38", "1e300"}) {
        const std::string sentence = refused({"--steps", "1", "--heldout", "0.2", "--warmup", "0", "--rate", rate}, 4);
        CHECK_THAT(sentence,
                   Contains("all terms, seed 1: step 1: ") && Contains(" is not a number any more, expected "));
    }
}

}  // namespace locus::test::test_train_cases

// A training that is killed and goes on ends with the same bytes as one that never was.
#include <chrono>
#include <thread>

#include "tests/fuzz/writers.h"
#include "tests/kill_while_writing.h"

namespace locus::test::test_killed_training {

namespace {

constexpr int kSteps = 40, kKills = 15;

struct Place {
    TemporaryFolder folder, temporary;
    Place() {
        std::string corpus;
        for (int n = 0; n < 60; ++n)
            corpus += words(1 + n % 3) + std::string(1, static_cast<char>('a' + n % 26)) + "\n";
        write_file(folder / "corpus.txt", corpus);
        write_file(folder / "config.json", R"({"model_type": "deberta-v2", "hidden_size": 16, "num_hidden_layers": 2,
            "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64,
            "relative_attention": true, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": true,
            "pos_att_type": "p2c|c2p", "position_biased_input": false, "type_vocab_size": 0,
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1})");
    }
    std::vector<std::string> arguments(const fs::path& out, const std::string& objective) const {
        std::vector<std::string> all = {"--corpus",       (folder / "corpus.txt").string(),
                                        "--config",       (folder / "config.json").string(),
                                        "--steps",        std::to_string(kSteps),
                                        "--batch-tokens", "128",
                                        "--threads",      "1",
                                        "--save-every",   "2",
                                        "--objective",    objective,
                                        "--out",          out.string()};
        if (fs::exists(out / "training_state.safetensors")) all.emplace_back("--resume");
        return all;
    }
};

struct Killed {
    int kills = 0, resumed = 0;
};

/// Starts the training again and again and kills it after at most `longest` seconds, until it has been killed kKills
/// times or ends by itself.
Killed kill_until_it_ends(const Place& place, const fs::path& out, const std::string& objective, double longest) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> moment(0, longest);
    Killed counted;
    for (bool over = false; !over;) {
        const bool goes_on = fs::exists(out / "training_state.safetensors");
        const ::pid_t child = ::fork();
        if (child == 0) {
            ::setenv("TMPDIR", place.temporary.path().c_str(), 1);  // goes away with what a kill leaves there
            become("locus-train", place.arguments(out, objective));
            ::_exit(127);
        }
        if (counted.kills < kKills) {
            std::this_thread::sleep_for(std::chrono::duration<double>(moment(random)));
            ::kill(child, SIGKILL);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        counted.kills += WIFSIGNALED(status);
        counted.resumed += goes_on;
        over = WIFEXITED(status);
        if (over) CHECK(WEXITSTATUS(status) == 0);
    }
    return counted;
}

void check_objective(const std::string& objective) {
    const Place place;
    // Of one name, which their README.md says.
    const fs::path whole = place.folder / "whole/model", killed = place.folder / "killed/model";
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(run("locus-train", place.arguments(whole, objective)).status == 0);
    double longest = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 3;

    // A machine that was busy and is not, or the other way round, kills too late or before the first save: once more.
    Killed counted;
    for (int attempt = 0; attempt < 8 && (counted.kills < 5 || counted.resumed < 5); ++attempt) {
        if (attempt > 0) longest *= counted.kills < 5 ? 0.5 : 2;
        fs::remove_all(killed);
        counted = kill_until_it_ends(place, killed, objective, longest);
        CHECK(snapshot(killed) == snapshot(whole));  // weights, moments, step, place in the corpus, tokenizer, README
    }
    INFO(objective << ": killed " << counted.kills << " times, resumed " << counted.resumed << " times, of " << kSteps
                   << " steps");
    CHECK(counted.kills >= 5);
    CHECK(counted.resumed >= 5);
    CHECK(listing(place.folder.path()) == std::vector<std::string>{"config.json", "corpus.txt", "killed", "whole"});
    CHECK(listing(killed.parent_path()) == std::vector<std::string>{"model"});
}

}  // namespace

TEST_CASE("train: killed at any moment and resumed, it ends with the same bytes", "[fuzz][train]") {
    check_objective("mlm");
    check_objective("rtd");
}

TEST_CASE("train: what a killed save left is put right by the next start", "[fuzz][train]") {
    const Place place;
    const fs::path out = place.folder / "out";
    REQUIRE(run("locus-train", place.arguments(out, "rtd")).status == 0);
    const auto whole = snapshot(out);
    const std::string gone = std::to_string(99999999);  // no process has this number
    // Between the two steps of a file system where folders cannot change places.
    fs::rename(out, place.folder / (".out.old-" + gone));
    CHECK(run("locus-train", {"--resume", "--out", out.string(), "--steps", "0"}).status ==
          2);  // refused before it looks
    std::vector<std::string> again = place.arguments(out, "rtd");
    again.emplace_back("--resume");
    CHECK(run("locus-train", again).status == 0);
    CHECK(snapshot(out) == whole);
    // After the folders changed places, before the folder inside came over.
    fs::create_directory(place.folder / (".out.part-" + gone));
    fs::rename(out / "generator", place.folder / (".out.part-" + gone) / "generator");
    write_file(place.folder / (".out.part-" + gone) / "config.json", "old");
    CHECK(run("locus-train", again).status == 0);
    CHECK(snapshot(out) == whole);
    // While the folder inside was written.
    fs::create_directories(place.folder / (".out.new-" + gone) / "generator");
    write_file(place.folder / (".out.new-" + gone) / "generator/config.json", "half");
    CHECK(run("locus-train", again).status == 0);
    CHECK(snapshot(out) == whole);
    CHECK(listing(place.folder.path()) == std::vector<std::string>{"config.json", "corpus.txt", "out"});
}

}  // namespace locus::test::test_killed_training

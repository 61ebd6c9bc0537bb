// Files that a stranger could have made to do harm: a program that is given one says what is wrong with it in one
// sentence, soon and without filling the memory, and leaves nothing behind.  malformed_files.py makes them and says
// what is expected of each.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/run_program.h"
#include "tests/sanitizers.h"

namespace locus::test::test_malformed_files {

namespace {

constexpr double kMostSeconds = 3;  // of the processor; on an idle machine none takes one
constexpr std::size_t kFree = std::size_t{64} << 20, kTimesTheFile = 32;

struct Run {
    int status = -1;  // 128 + the signal that ended it
    double seconds = 0;
    std::size_t bytes = 0;  // most that were resident
    std::string err;
};

/// A program of this build, its time and memory: wait4 measures this child alone.
Run run_measured(const std::string& program, const std::vector<std::string>& arguments) {
    const TemporaryFolder folder;
    const std::string file = (fs::path(LOCUS_BINARY_DIR) / "bin" / program).string();
    const std::string out = (folder / "out").string(), err = (folder / "err").string();
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit time{20, 20}, core{0, 0};
        ::setrlimit(RLIMIT_CPU, &time);
        ::setrlimit(RLIMIT_CORE, &core);
        ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
        ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
        ::execv(file.c_str(), words.data());
        ::_exit(127);
    }
    int status = 0;
    rusage usage = {};
    REQUIRE(::wait4(child, &status, 0, &usage) == child);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<std::size_t>(usage.ru_maxrss) * 1024,
            read_file(err)};
}

void check_case(const nlohmann::json& one, std::size_t own_bytes) {
    const fs::path folder = one["folder"].get<std::string>(), file = folder / one["file"].get<std::string>();
    const Run run = run_measured(one["program"], one["arguments"]);
    INFO(one["name"].get<std::string>() << ": " << run.err);
    CHECK(run.status == one["status"].get<int>());
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == (run.status < 2 ? 0 : 1));
    if (run.status > 2) CHECK_THAT(run.err, Catch::Contains(file.string() + ":"));
    CHECK_THAT(run.err, Catch::Contains(one["says"].get<std::string>()));
    CHECK(run.err.size() < 1000);  // whatever the file holds, somebody can read it
    CHECK(run.seconds < kMostSeconds);
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    if (!kSanitized) CHECK(run.bytes < own_bytes + kFree + kTimesTheFile * (error ? 0 : size));
    if (run.status != 0) CHECK(listing(folder.parent_path()) == std::vector<std::string>{"model"});
}

/// Every case of one group of malformed_files.py.
void check_group(const std::string& group) {
    const TemporaryFolder folder;
    const fs::path script = fs::path(LOCUS_SOURCE_DIR) / "tests/fuzz/malformed_files.py";
    if (run_file("/bin/sh", {"-c", "command -v python3"}).status != 0) {
        WARN("skipped: python3, which makes the files, is not there");
        return;
    }
    const Outcome made =
        run_file("/usr/bin/env", {"python3", script.string(), folder.path().string(), "--only", group});
    INFO(made.err);
    REQUIRE(made.status == 0);
    const auto cases = nlohmann::json::parse(read_file(folder / "cases.json"));
    REQUIRE(cases.size() >= 15);
    const std::size_t own_bytes = run_measured("locus-trace", {"--help"}).bytes;
    for (const auto& one : cases) check_case(one, own_bytes);
}

}  // namespace

TEST_CASE("malformed safetensors files are refused", "[fuzz][safetensors]") { check_group("safetensors"); }

TEST_CASE("malformed pickles are refused", "[fuzz][torch_pickle]") { check_group("pickle"); }

TEST_CASE("malformed zip archives are refused", "[fuzz][zip_directory]") { check_group("zip"); }

TEST_CASE("malformed tokenizer.json files are refused", "[fuzz][text]") { check_group("tokenizer"); }

TEST_CASE("malformed SentencePiece models are refused", "[fuzz][text]") { check_group("spm"); }

TEST_CASE("malformed NumPy arrays are refused", "[fuzz][npy]") { check_group("npy"); }

TEST_CASE("malformed config.json files are refused", "[fuzz][config]") { check_group("config"); }

}  // namespace locus::test::test_malformed_files

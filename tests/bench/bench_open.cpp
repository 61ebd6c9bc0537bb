#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <string>

#include "core/check.h"
#include "core/models/deberta_weights.h"
#include "tests/bench/bench.h"
#include "tests/bench/make_checkpoint.h"

extern char** environ;

namespace locus::bench {

namespace {

namespace fs = std::filesystem;

struct ChildCost {
    double seconds = 0, megabytes = 0;
};

/// Runs a program of this build in a process of its own.
ChildCost run_child(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const double start = now();
    pid_t child = 0;
    int status = 0;
    rusage usage = {};
    if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0 ||
        wait4(child, &status, 0, &usage) < 0 || status != 0)
        throw Error(Fault::unreadable, "bench open: " + command[0] + " did not run to its end");
    return {now() - start, static_cast<double>(usage.ru_maxrss) * 1024 / 1e6};
}

/// float32 bytes of what layer 0's three terms read: norms, projections, the relative table, 32 word rows.
double needed_megabytes() {
    const double width = 768, span = 256, words = 32;
    return 4 * (2 * (width * width + width) + 2 * span * width + words * width + 4 * width) / 1e6;
}

}  // namespace

std::vector<Measure> bench_open() {
    const fs::path folder = fs::temp_directory_path() / ("locus-bench-" + std::to_string(::getpid()));
    write_v3_base_checkpoint(folder, 1);
    std::string tokens = "1";
    for (int n = 1; n < 32; ++n) tokens += "," + std::to_string(n * 3911 % 128000);
    const fs::path trace = fs::read_symlink("/proc/self/exe").parent_path() / "locus-trace";
    const std::vector<std::string> command = {trace.string(),
                                              "--model",
                                              folder.string(),
                                              "--tokens",
                                              tokens,
                                              "--stages",
                                              "layer.0.c2c,layer.0.c2p,layer.0.p2c",
                                              "--out",
                                              (folder / "trace.safetensors").string()};
    std::vector<Measure> measures;
    try {
        std::vector<double> seconds, megabytes;
        for (int round = 0; round < 5; ++round) {  // the file was just written and lies in the page cache
            const ChildCost cost = run_child(command);
            seconds.push_back(cost.seconds);
            megabytes.push_back(cost.megabytes);
        }
        measures = {
            {"size of the file", static_cast<double>(fs::file_size(folder / "pytorch_model.bin")) / 1e6, "MB", 0, true},
            {"open, compute and write", median(seconds), "s", 1.5, false},
            {"tensors that layer 0 needs, float32", needed_megabytes(), "MB", 0, true},
            {"peak resident memory", median(megabytes), "MB", 1.2 * needed_megabytes() + 200, false}};
    } catch (...) {
        fs::remove_all(folder);
        throw;
    }
    fs::remove_all(folder);
    return measures;
}

}  // namespace locus::bench

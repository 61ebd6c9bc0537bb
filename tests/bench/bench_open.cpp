#include <filesystem>
#include <string>

#include "core/check.h"
#include "core/models/deberta_weights.h"
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/bench/make_checkpoint.h"
#include "tests/temporary_folder.h"

namespace locus::bench {

namespace {

namespace fs = std::filesystem;

/// float32 bytes of what layer 0's three terms read: norms, projections, the relative table, 32 word rows.
double needed_megabytes() {
    const double width = 768, span = 256, words = 32;
    return 4 * (2 * (width * width + width) + 2 * span * width + words * width + 4 * width) / 1e6;
}

}  // namespace

std::vector<Measure> bench_open() {
    const test::TemporaryFolder kept;
    const fs::path& folder = kept.path();
    write_v3_base_checkpoint(folder, 1);
    std::string tokens = "1";
    for (int n = 1; n < 32; ++n) tokens += "," + std::to_string(n * 3911 % 128000);
    const std::vector<std::string> command = {program_beside("locus-trace").string(),
                                              "--model",
                                              folder.string(),
                                              "--tokens",
                                              tokens,
                                              "--stages",
                                              "layer.0.c2c,layer.0.c2p,layer.0.p2c",
                                              "--out",
                                              (folder / "trace.safetensors").string()};
    std::vector<double> seconds, megabytes;
    for (int round = 0; round < 5; ++round) {  // the file was just written and lies in the page cache
        const ChildCost cost = run_child(command);
        seconds.push_back(cost.seconds);
        megabytes.push_back(cost.megabytes);
    }
    return {{"size of the file", static_cast<double>(fs::file_size(folder / "pytorch_model.bin")) / 1e6, "MB", 0, true},
            {"open, compute and write", median(seconds), "s", 1.5, false},
            {"tensors that layer 0 needs, float32", needed_megabytes(), "MB", 0, true},
            {"peak resident memory", median(megabytes), "MB", 1.2 * needed_megabytes() + 200, false}};
}

}  // namespace locus::bench

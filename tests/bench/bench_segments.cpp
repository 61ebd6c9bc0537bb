#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/io/checkpoint.h"
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/temporary_folder.h"

namespace locus::bench::segments {

namespace {

namespace fs = std::filesystem;

constexpr int kSegment = 48, kFew = 4, kMany = 64;

/// Peak memory of the last segment's logits over `segments` segments.
double peak_megabytes(const fs::path& model, int segments, const fs::path& folder) {
    std::string tokens = "2";
    for (int n = 1; n < segments * kSegment; ++n) tokens += "," + std::to_string(2 + n * 7 % 60);
    return run_child({program_beside("locus-trace").string(), "--model", model.string(), "--tokens", tokens,
                      "--segment", std::to_string(kSegment), "--stages",
                      "segment." + std::to_string(segments - 1) + ".lm.logits", "--out",
                      (folder / "trace.safetensors").string()})
        .megabytes;
}

/// tiny-xlnet with a memory: the checkpoint was trained without one.
void copy_with_memory(const fs::path& from, const fs::path& to) {
    fs::create_directories(to);
    std::ifstream source(from / "config.json");
    nlohmann::json config = nlohmann::json::parse(source);
    config["mem_len"] = kSegment;
    std::ofstream(to / "config.json") << config.dump();
    fs::copy_file(from / "pytorch_model.bin", to / "pytorch_model.bin");
}

void report(Measures& measures, const std::string& name, const fs::path& model, const fs::path& folder) {
    const double few = peak_megabytes(model, kFew, folder), many = peak_megabytes(model, kMany, folder);
    measures.push_back({name + ", 4 segments", few, "MB", 0, true});
    measures.push_back({name + ", 64 segments", many, "MB", 0, true});
    measures.push_back({name + ", 64 / 4 segments", many / few, "x", 1.1, false});
}

}  // namespace

void measure(Measures& measures) {
    const test::TemporaryFolder folder;
    copy_with_memory(resolve_model("tiny-xlnet"), folder.path());
    report(measures, "Transformer-XL", resolve_model("tiny-txl"), folder.path());
    report(measures, "XLNet", folder.path(), folder.path());
}

}  // namespace locus::bench::segments

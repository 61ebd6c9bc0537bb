// Programs as users start them: the cost of opening a large checkpoint, and what the viewer feels like.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/check.h"
#include "core/io/input_file.h"
#include "core/models/deberta_weights.h"
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/bench/make_checkpoint.h"
#include "tests/temporary_folder.h"

namespace locus::bench::programs {

namespace {

namespace fs = std::filesystem;

/// float32 bytes of what layer 0's three terms read: norms, projections, the relative table, 32 word rows.
double needed_megabytes() {
    const double width = 768, span = 256, words = 32;
    return 4 * (2 * (width * width + width) + 2 * span * width + words * width + 4 * width) / 1e6;
}

}  // namespace

void measure_open(Measures& measures) {
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
    measures.add(
        {{"size of the file", static_cast<double>(fs::file_size(folder / "pytorch_model.bin")) / 1e6, "MB", 0, true},
         {"open, compute and write", median(seconds), "s", 1.5, false},
         {"tensors that layer 0 needs, float32", needed_megabytes(), "MB", 0, true},
         {"peak resident memory", median(megabytes), "MB", 1.2 * needed_megabytes() + 200, false}});
}

namespace {

/// What `locus-view --bench` prints, on a display of its own: a window on somebody's screen waits for its refreshes.
nlohmann::json measured_by_viewer(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {
        "xvfb-run", "-a", "-s", "-screen 0 1280x800x24", program_beside("locus-view").string(), "--bench"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    run_child(command, folder / "view.json");
    return read_json_file(folder / "view.json");
}

double number(const nlohmann::json& object, const char* first, const char* second) {
    return object.at(first).at(second).get<double>();
}

}  // namespace

void measure_view(Measures& measures) {
    const test::TemporaryFolder folder;
    const nlohmann::json tiny = measured_by_viewer(folder.path(), {});
    std::filesystem::remove(folder / "view.json");
    write_v3_base_checkpoint(folder / "model", 1);
    std::string tokens = "1";
    for (int n = 1; n < 32; ++n) tokens += "," + std::to_string(n * 3911 % 128000);
    const nlohmann::json base =
        measured_by_viewer(folder.path(), {(folder / "model").string(), "--layer", "11", "--tokens", tokens});
    const double matrix = number(tiny, "large_matrix", "matrix_mb");
    measures.add(
        {{"first frame after start, tiny-v3", tiny.at("first_frame_ms"), "ms", 500, false},
         {"another head, median", number(tiny, "head_change", "median_ms"), "ms", 8, false},
         {"a letter more in the sentence, tiny-v3, median", number(tiny, "keystroke", "median_ms"), "ms", 60, false},
         {"a token more, deberta-v3-base's shape, 32 tokens, last layer, median",
          number(base, "keystroke", "median_ms"), "ms", 400, false},
         {"4096 x 4096, slowest of panning and zooming", number(tiny, "large_matrix", "fps_slowest"), "frames/s", 60,
          true},
         {"the matrix itself", matrix, "MB", 0, true},
         {"memory for its pictures, all levels visited", number(tiny, "large_matrix", "memory_beside_it_mb"), "MB", 0,
          true},
         {"idle, of one core", tiny.at("idle_percent_of_a_core"), "%", 0.5, false}});
}

}  // namespace locus::bench::programs

// locus bench cuda: what the compiler made of every kernel, and, with a device, all CUDA tests and the measurements.
// It runs where there is nothing but a driver: no library that is not part of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/cli/program.h"
#include "core/io/whole_file.h"
#include "cuda/fused_timing.h"
#include "cuda/ladder/rungs.h"
#include "cuda/roofline.h"
#include "cuda/runtime.h"
#include "tests/bench/cuda/against.h"
#include "tests/bench/cuda/captured.h"
#include "tests/bench/cuda/columns.h"
#include "tests/bench/cuda/cubin.h"
#include "tests/bench/cuda/encoders.h"
#include "tests/bench/cuda/sanitize.h"

namespace {

using namespace locus;
using bench::columns, bench::text_of;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Options {
    bool resources = false, sanitize = false, json = false;
    std::string report, against;
    std::vector<std::string> only;
    bench::AgainstOptions peers;

    bool wants(const std::string& part) const {
        if (!only.empty()) return std::find(only.begin(), only.end(), part) != only.end();
        if (part == "sanitizer") return sanitize;
        if (part == "peers") return !against.empty();
        return !peers.rehearse;
    }
};

fs::path own_program() { return fs::read_symlink("/proc/self/exe"); }

ordered_json resources() {
    ordered_json all = ordered_json::array();
    for (const bench::KernelResources& one : bench::kernel_resources(own_program()))
        all.push_back({{"kernel", one.kernel},
                       {"architecture", one.architecture},
                       {"registers", one.registers},
                       {"stack_bytes", one.stack_bytes}});
    if (all.empty())
        throw Error(Fault::unsupported, "this program was built without CUDA, so it holds no kernels to look at");
    return all;
}

void print_resources(const ordered_json& all) {
    std::vector<std::vector<std::string>> rows = {{"kernel", "for", "registers", "stack bytes"}};
    for (const ordered_json& one : all)
        rows.push_back({one["kernel"], one["architecture"], std::to_string(one["registers"].get<int>()),
                        std::to_string(one["stack_bytes"].get<int>())});
    std::cout << columns(rows);
}

/// The test program beside this one.
fs::path tests_program() {
    const fs::path program = own_program().parent_path() / "locus-tests-cuda";
    if (!fs::exists(program))
        throw Error(Fault::unreadable, program.string() + " is missing, expected the tests beside this program");
    return program;
}

/// What it printed last, and whether all passed.
ordered_json run_tests() {
    const fs::path program = tests_program();
    std::cerr << "running " << program.filename().string() << std::endl;
    const bench::Captured ran = bench::capture({program.string()});
    std::istringstream lines(ran.text);
    std::string last;
    int skipped = 0;
    for (std::string line; std::getline(lines, line);) {
        skipped += line.starts_with("skipped: ");
        if (line.starts_with("All tests passed") || line.starts_with("test cases:")) last = line;
    }
    if (ran.status != 0) std::cerr << ran.text;
    return {{"passed", ran.status == 0}, {"skipped", skipped}, {"summary", last}};
}

/// One line of the table: what was measured, or the sentence why not.
ordered_json measure(const std::string& kernel, const cuda::TimedShape& shape, const std::string& precision,
                     bool knows_ceilings) {
    const auto which = precision == "f32"   ? cuda::FusedPrecision::f32
                       : precision == "f16" ? cuda::FusedPrecision::f16
                                            : cuda::FusedPrecision::bf16;
    const std::string positions = shape.max_position > 0 ? "log" : "clamp";
    ordered_json row = {{"kernel", kernel},  {"precision", precision}, {"B", shape.batch},       {"H", shape.heads},
                        {"T", shape.tokens}, {"d", shape.width},       {"positions", positions}, {"k", shape.buckets}};
    std::cerr << kernel << " " << precision << " B " << shape.batch << " T " << shape.tokens << ", " << positions
              << std::endl;
    try {
        const bool forward = kernel != "backward";
        const auto path = kernel == "hopper"         ? cuda::ForwardPath::hopper
                          : kernel == "tensor cores" ? cuda::ForwardPath::tensor_cores
                                                     : cuda::ForwardPath::fastest;
        const cuda::TimedKernel timed =
            forward ? cuda::time_fused_forward(shape, which, 30, path) : cuda::time_fused_backward(shape, which);
        row["ms"] = timed.milliseconds;
        row["ms_fastest"] = timed.fastest;
        row["ms_slowest"] = timed.slowest;
        row["choice"] = timed.choice;
        row["extra_bytes"] = timed.extra_bytes;
        if (knows_ceilings && precision != "f32") {
            const BucketLine line = shape.max_position > 0
                                        ? BucketLine::logarithmic(shape.tokens, shape.tokens, shape.buckets,
                                                                  shape.max_position, OffsetClamp::official)
                                        : BucketLine::clamped(shape.tokens, shape.tokens, shape.buckets);
            const auto work = forward ? cuda::forward_work : cuda::backward_work;
            row["floor_ms"] = 1e3 * work(shape.batch, shape.heads, shape.width, line).seconds(cuda::kH200);
            row["share_of_floor"] = row["floor_ms"].get<double>() / timed.milliseconds;
        }
    } catch (const Error& error) {
        row["not_measured"] = error.what();
    }
    return row;
}

std::vector<cuda::TimedShape> shapes() {
    std::vector<cuda::TimedShape> all;
    for (const auto& [batch, tokens] :
         {std::pair{2, 8192}, {4, 4096}, {8, 2048}, {16, 1024}, {32, 512}, {64, 256}, {128, 128}}) {
        all.push_back({batch, 12, tokens, 64, 256, 512});
        all.push_back({batch, 12, tokens, 64, 512, 0});
    }
    return all;
}

/// Every rung of the ladder at one length; the tests have compared all of them before.
ordered_json measure_ladder(int tokens) {
    constexpr Index kHeads = 12, kWidth = 64;
    std::cerr << "ladder, T " << tokens << std::endl;
    const BucketLine line = BucketLine::logarithmic(tokens, tokens, 256, 512, OffsetClamp::official);
    cuda::FusedInput input;
    input.q = input.k = input.v = Tensor<float>({1, kHeads, tokens, kWidth});
    input.k_r = input.q_r = Tensor<float>({kHeads, 2 * line.span(), kWidth});
    input.scale = 1 / std::sqrt(3.0f * kWidth);
    ordered_json row = {{"T", tokens}};
    for (const cuda::NamedRung& named : cuda::kLadder) {
        try {
            row[named.name] =
                named.rung == cuda::Rung::fused
                    ? cuda::time_fused_forward({1, kHeads, tokens, kWidth, 256, 512}, cuda::FusedPrecision::f32)
                          .milliseconds
                    : cuda::time_rung(named.rung, input, line);
        } catch (const Error& error) {
            row[named.name] = error.what();  // too little memory for the tables of a long text
        }
    }
    return row;
}

void print_ladder(const ordered_json& report) {
    std::vector<std::vector<std::string>> rows = {{"ladder, f32, ms"}};
    for (const cuda::NamedRung& named : cuda::kLadder) rows.front().push_back(named.name);
    for (const ordered_json& row : report["ladder"]) {
        rows.push_back({"T " + std::to_string(row["T"].get<int>())});
        for (const cuda::NamedRung& named : cuda::kLadder)
            rows.back().push_back(row[named.name].is_number() ? text_of(row[named.name].get<double>(), 3)
                                                              : std::string("not measured"));
    }
    std::cout << columns(rows);
}

void print_measured(const ordered_json& report) {
    std::vector<std::vector<std::string>> rows = {
        {"kernel", "numbers", "B", "T", "positions", "ms", "floor", "% of it", "how"}};
    const auto text = [](const ordered_json& row, const char* key, int decimals, double factor) {
        return row.contains(key) ? text_of(row[key].get<double>() * factor, decimals) : std::string("-");
    };
    for (const ordered_json& row : report["measured"])
        rows.push_back({row["kernel"], row["precision"], std::to_string(row["B"].get<int>()),
                        std::to_string(row["T"].get<int>()), row["positions"],
                        row.contains("ms") ? text(row, "ms", 3, 1) : std::string("not measured"),
                        text(row, "floor_ms", 3, 1), text(row, "share_of_floor", 0, 100), row.value("choice", "")});
    std::cout << columns(rows);
}

/// The kernels at every shape: "forward" is what a caller gets, beside it the two on tensor cores by name.
ordered_json measure_kernels(bool knows_ceilings) {
    ordered_json all = ordered_json::array();
    for (const std::string kernel : {"forward", "hopper", "tensor cores", "backward"}) {
        for (const char* precision : {"bf16", "f16"})
            for (const cuda::TimedShape& shape : shapes())
                all.push_back(measure(kernel, shape, precision, knows_ceilings));
        if (kernel == "hopper" || kernel == "tensor cores") continue;  // of 16-bit numbers only
        for (const int tokens : {128, 512, 2048})
            all.push_back(measure(kernel, {1, 12, tokens, 64, 256, 512}, "f32", false));
    }
    return all;
}

/// The fastest bfloat16 whole forward that was timed, kernel by kernel or in a graph: {"how", "ms"}.
ordered_json our_encoder(const ordered_json& all) {
    ordered_json best = {{"not_measured", "no whole forward was timed in this run"}};
    if (!all.contains("encoders")) return best;
    for (const ordered_json& row : all["encoders"]) {
        if (row["precision"] != "bf16") continue;
        for (const char* how : {"plain", "graph"})
            if (row.contains(how) && (!best.contains("ms") || row[how]["ms"] < best["ms"]))
                best = {{"ms", row[how]["ms"]},
                        {"how", "products: " + row["products"].get<std::string>() + ", " + how}};
    }
    return best;
}

void need_device() {
    if (!cuda::available())
        throw Error(Fault::unsupported,
                    cuda::why_unavailable() + "; nothing was measured, locus bench cuda --resources needs none");
}

ordered_json report(const Options& options) {
    ordered_json all = ordered_json::object();
    if (options.wants("tests") || options.wants("kernels") || options.wants("ladder") ||
        (options.wants("peers") && !options.peers.rehearse)) {
        need_device();
        all["device"] = cuda::device_name();
    }
    if (options.wants("tests")) all["tests"] = run_tests();
    if (options.wants("sanitizer")) all["sanitizer"] = bench::sanitize(tests_program());
    if (options.wants("kernels")) {
        all["copy_bytes_per_second"] = cuda::device_bandwidth();
        all["resources"] = resources();
        all["measured"] = measure_kernels(cuda::device_name().find("H200") != std::string::npos);
        all["encoders"] = bench::measure_encoders();
    }
    if (options.wants("ladder"))
        for (const int tokens : {128, 512, 2048}) all["ladder"].push_back(measure_ladder(tokens));
    if (options.wants("peers")) all["against"] = bench::measure_against(options.peers, our_encoder(all));
    return all;
}

/// 0: all that was asked was done and is well; 1: a test failed, or under the sanitizer; 4: the sanitizer alone was
/// asked for and is not there.
int status_of(const Options& options, const ordered_json& all) {
    bool well = !all.contains("tests") || all["tests"]["passed"].get<bool>(), missing = false;
    if (all.contains("sanitizer"))
        for (const ordered_json& tool : all["sanitizer"]) {
            well = well && tool.value("clean", true);
            missing = missing || tool.contains("not_available");
        }
    return !well ? 1 : missing && options.only.size() == 1 ? 4 : 0;
}

int run(const Options& options) {
    if (options.resources) {
        const ordered_json all = resources();
        if (options.json)
            std::cout << all.dump(1) << '\n';
        else
            print_resources(all);
        return 0;
    }
    const ordered_json all = report(options);
    if (!options.report.empty()) {
        const std::string text = all.dump(1) + "\n";
        write_whole_file(options.report, [&](const ByteSink& sink) { sink(text.data(), text.size()); });
    }
    if (options.json) {
        std::cout << all.dump(1) << '\n';
    } else {
        if (all.contains("sanitizer")) std::cout << bench::sanitize_table(all["sanitizer"]);
        if (all.contains("measured")) print_measured(all);
        if (all.contains("encoders")) std::cout << columns(bench::encoder_table(all["encoders"]));
        if (all.contains("ladder")) print_ladder(all);
        if (all.contains("against")) std::cout << bench::against_table(all["against"]);
    }
    return status_of(options, all);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Runs every CUDA test and measures the fused kernels on this machine's device.\n"
        "  locus bench cuda --report build/cuda.json\n"
        "  locus bench cuda --against torch --report build/cuda.json   with others on the same tensors\n"
        "  locus bench cuda --resources     registers and stack of every kernel; needs no device",
        "locus bench cuda");
    Options options;
    app.add_flag("--resources", options.resources, "print what the compiler gave every kernel, from this program");
    app.add_option("--report", options.report, "also write everything into this JSON file")->check(cli::not_empty());
    app.add_flag("--sanitize", options.sanitize, "also run the tests under compute-sanitizer: memcheck, racecheck");
    app.add_option("--against", options.against, "torch: also time what others make of the same tensors, in turn")
        ->check(CLI::IsMember({"torch"}));
    app.add_option("--python", options.peers.python, "a Python that has them (tests/bench/peers.py makes one)")
        ->check(cli::not_empty());
    app.add_option("--rows", options.peers.rows, "of the peers' table alone these")
        ->check(CLI::IsMember({"forward", "packed", "backward", "model"}));
    app.add_flag("--tune", options.peers.tune, "let peers that can tune themselves do so first; takes minutes");
    app.add_flag("--rehearse", options.peers.rehearse,
                 "with --against: small shapes on the processor, to see that programs, tensors and errors are right");
    app.add_option("--only", options.only, "of the report alone these parts")
        ->check(CLI::IsMember({"tests", "sanitizer", "kernels", "ladder", "peers"}));
    app.add_flag("--json", options.json, "print JSON");
    return cli::run_program(app, argc, argv, [&] {
        const bool peers = options.wants("peers");
        LOCUS_CHECK(!peers || !options.against.empty(), "--only peers needs --against torch");
        LOCUS_CHECK(peers || (options.peers.python.empty() && options.peers.rows.empty() && !options.peers.tune &&
                              !options.peers.rehearse),
                    "--python, --rows, --tune and --rehearse belong to --against torch");
        return run(options);
    });
}

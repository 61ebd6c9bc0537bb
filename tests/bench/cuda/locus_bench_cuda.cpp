// locus bench cuda: what the compiler made of every kernel, and, with a device, all CUDA tests and the measurements.
// It runs where there is nothing but a driver: no library that is not part of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/cli/program.h"
#include "core/io/atomic_file.h"
#include "cuda/runtime.h"
#include "tests/bench/cuda/against.h"
#include "tests/bench/cuda/cubin.h"
#include "tests/bench/cuda/measures.h"
#include "tests/bench/cuda/sanitize.h"
#include "tests/bench/cuda/timing.h"

namespace {

using namespace locus;
using bench::columns;
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
        all["measured"] = bench::measure_kernels(cuda::device_name().find("H200") != std::string::npos);
        all["encoders"] = bench::measure_encoders();
    }
    if (options.wants("ladder")) all["ladder"] = bench::measure_ladder();
    if (options.wants("peers")) all["against"] = bench::measure_against(options.peers);
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
        write_atomic_file(options.report, [&](const ByteSink& sink) { sink(text.data(), text.size()); });
    }
    if (options.json) {
        std::cout << all.dump(1) << '\n';
    } else {
        if (all.contains("sanitizer")) std::cout << bench::sanitize_table(all["sanitizer"]);
        if (all.contains("measured")) std::cout << columns(bench::kernel_table(all["measured"]));
        if (all.contains("encoders")) std::cout << columns(bench::encoder_table(all["encoders"]));
        if (all.contains("ladder")) std::cout << columns(bench::ladder_table(all["ladder"]));
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

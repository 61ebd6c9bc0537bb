// locus bench cuda: what the compiler made of every kernel, and, with a device, all CUDA tests and the measurements.
// It runs where there is nothing but a driver: no library that is not part of it.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "cuda/runtime.h"
#include "tests/bench/cuda/against.h"
#include "tests/bench/cuda/cubin.h"
#include "tests/bench/cuda/device_tests.h"
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
    bench::Narrowing narrowing;
    bench::TestLimits tests;
    double minutes = 8;  // of every part
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

void need_device() {
    if (!cuda::available())
        throw Error(Fault::unsupported,
                    cuda::why_unavailable() + "; nothing was measured, locus bench cuda --resources needs none");
}

/// Part after part, row after row.
void measure(const Options& options, bench::Report& report) {
    const double seconds = 60 * options.minutes;
    if (options.wants("tests") || options.wants("kernels") || options.wants("ladder") ||
        (options.wants("peers") && !options.peers.rehearse)) {
        need_device();
        report.set("/device", cuda::device_name());
    }
    if (options.wants("tests"))
        bench::run_device_tests(tests_program(), options.narrowing, options.tests, report.rows("/tests", seconds));
    if (options.wants("sanitizer"))
        report.set("/sanitizer", bench::sanitize(tests_program(), options.narrowing.tests, seconds));
    if (options.wants("kernels")) {
        const cuda::Ceilings ceilings = cuda::ceilings_of(cuda::device_attributes());
        report.set("/ceilings", {{"operations_per_second", ceilings.products_per_second},
                                 {"bytes_per_second", ceilings.bytes_per_second}});
        report.set("/copy_bytes_per_second", cuda::device_bandwidth());
        report.set("/resources", resources());
        bench::measure_kernels(ceilings, options.narrowing, report.rows("/measured", seconds));
        if (options.narrowing.wants_row("model") && options.narrowing.wants_tokens(512))
            bench::measure_encoders(report.rows("/encoders", seconds));
    }
    if (options.wants("ladder")) bench::measure_ladder(options.narrowing, report.rows("/ladder", seconds));
    if (options.wants("peers")) bench::measure_against(options.peers, options.narrowing, report, seconds);
}

/// 0: all that was asked was done and is well; 1: a test failed, or under the sanitizer; 4: the sanitizer alone was
/// asked for and is not there.
int status_of(const Options& options, const ordered_json& all) {
    bool well = !all.contains("tests") || bench::count_results(all["tests"])["failed"] == 0, missing = false;
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
    bench::Report report(options.report);
    measure(options, report);
    const ordered_json& all = report.all();
    if (options.json) {
        std::cout << all.dump(1) << '\n';
    } else {
        if (all.contains("tests")) std::cout << "tests: " << bench::count_results(all["tests"]).dump() << '\n';
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
    cli::Command program(
        "Runs every CUDA test and measures the fused kernels on this machine's device.\n"
        "  locus bench cuda --report build/cuda.json\n"
        "  locus bench cuda --against torch --report build/cuda.json   with others on the same tensors\n"
        "  locus bench cuda --pack DIR      all of this for a machine with a driver and nothing else\n"
        "  locus bench cuda --resources     registers and stack of every kernel; needs no device",
        "locus bench cuda");
    Options options;
    program.flag("--resources", options.resources, "print what the compiler gave every kernel, from this program");
    program.option("--report", options.report, "also write everything into this JSON file").not_empty();
    program.flag("--sanitize", options.sanitize, "also run the tests under compute-sanitizer: memcheck, racecheck");
    program.option("--against", options.against, "torch: also time what others make of the same tensors, in turn")
        .one_of({"torch"});
    program.option("--python", options.peers.python, "a Python that has them (tests/bench/peers.py makes one)")
        .not_empty();
    program.option("--rows", options.narrowing.rows, "of kernels and peers alone these")
        .one_of({"forward", "packed", "backward", "model"});
    program.option("--tokens", options.narrowing.tokens, "of kernels, ladder and peers alone these lengths")
        .within(1, 1 << 20);
    program.option("--peer", options.narrowing.peers, "alone these peers").one_of(bench::kPeers);
    program.option("--tests", options.narrowing.tests, "alone tests with this in their names, under the sanitizer too")
        .not_empty();
    program.option("--jobs,-j", options.tests.jobs, "tests at once").within(1, 64).shows_default();
    program.option("--limit", options.tests.seconds, "seconds for each test").within(1.0, 3600.0).shows_default();
    program.option("--minutes", options.minutes, "no row of a part begins after so many")
        .within(0.1, 600.0)
        .shows_default();
    program.flag("--tune", options.peers.tune, "let peers that can tune themselves do so first; takes minutes");
    program.flag("--rehearse", options.peers.rehearse,
                 "with --against: small shapes on the processor, to see that programs, tensors and errors are right");
    program.option("--only", options.only, "of the report alone these parts")
        .one_of({"tests", "sanitizer", "kernels", "ladder", "peers"});
    program.flag("--json", options.json, "print JSON");
    return cli::run_program(program, argc, argv, [&] {
        const bool peers = options.wants("peers");
        LOCUS_CHECK(!peers || !options.against.empty(), "--only peers needs --against torch");
        LOCUS_CHECK(peers || (options.peers.python.empty() && options.narrowing.peers.empty() && !options.peers.tune &&
                              !options.peers.rehearse),
                    "--python, --peer, --tune and --rehearse belong to --against torch");
        return run(options);
    });
}

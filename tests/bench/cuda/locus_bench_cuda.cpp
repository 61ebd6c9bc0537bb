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
#include "tests/bench/cuda/processes.h"
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
    int from_row = -1;   // of the one part that is measured here: print_rows
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

bench::Plan plan_of(const Options& options, const std::string& part) {
    if (part == "kernels") return bench::plan_kernels(options.narrowing);
    if (part == "encoders") return bench::plan_encoders(options.narrowing);
    if (part == "ladder") return bench::plan_ladder(options.narrowing);
    bench::AgainstOptions peers = options.peers;
    peers.seconds = 60 * options.minutes;
    return bench::plan_against(peers, options.narrowing);
}

/// This program again, for the rows of a part from one on.
std::vector<std::string> own_command(const Options& options, const std::string& part, std::size_t row, double seconds) {
    std::vector<std::string> words = {own_program().string(),
                                      "--only",
                                      part,
                                      "--from-row",
                                      std::to_string(row),
                                      "--minutes",
                                      std::to_string(std::max(seconds / 60, 0.1))};
    const auto add = [&](const std::string& name, const std::vector<std::string>& values) {
        if (values.empty()) return;
        words.push_back(name);
        words.insert(words.end(), values.begin(), values.end());
    };
    std::vector<std::string> tokens;
    for (const int count : options.narrowing.tokens) tokens.push_back(std::to_string(count));
    add("--tokens", tokens);
    add("--rows", options.narrowing.rows);
    if (part != "peers") return words;
    add("--against", {options.against});
    add("--peer", options.narrowing.peers);
    if (!options.peers.python.empty()) add("--python", {options.peers.python});
    if (options.peers.tune) words.push_back("--tune");
    if (options.peers.rehearse) words.push_back("--rehearse");
    return words;
}

/// Part after part, row after row.
void measure(const Options& options, bench::Report& report) {
    const double seconds = 60 * options.minutes;
    const auto wants = [&](const std::string& part) { return options.wants(part); };
    const auto measure_rows = [&](const std::string& part, const std::string& pointer) {
        bench::measure_apart(
            plan_of(options, part),
            [&](std::size_t first, double left) { return own_command(options, part, first, left); },
            report.rows(pointer, seconds));
    };
    if (wants("tests") || wants("kernels") || wants("encoders") || wants("ladder") ||
        (wants("peers") && !options.peers.rehearse)) {
        need_device();
        report.set("/device", cuda::device_name());
    }
    if (wants("tests"))
        bench::run_device_tests(tests_program(), options.narrowing, options.tests, report.rows("/tests", seconds));
    if (wants("sanitizer"))
        bench::sanitize(
            tests_program(), options.narrowing.tests, seconds,
            [&](const std::string& tool, const ordered_json& found) { report.set("/sanitizer/" + tool, found); });
    if (wants("kernels")) {
        const cuda::Ceilings ceilings = cuda::ceilings_of(cuda::device_attributes());
        report.set("/ceilings", {{"operations_per_second", ceilings.products_per_second},
                                 {"bytes_per_second", ceilings.bytes_per_second}});
        report.set("/copy_bytes_per_second", cuda::device_bandwidth());
        report.set("/resources", resources());
        measure_rows("kernels", "/measured");
    }
    if (wants("encoders")) measure_rows("encoders", "/encoders");
    if (wants("ladder")) measure_rows("ladder", "/ladder");
    if (wants("peers")) {
        report.set("/against/python", bench::python_of(options.peers));
        report.set("/against/rehearsal", options.peers.rehearse);
        report.set("/against/packages", bench::peer_packages(options.peers));
        measure_rows("peers", "/against/rows");
    }
}

/// Whether a row's process was ended.
bool has_ended_row(const ordered_json& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const ordered_json& row) { return row.contains("ended"); });
}

/// 0: all that was asked was done and is well; 1: a test failed, or under the sanitizer, or a kernel that was measured
/// crashed or hung; 4: the sanitizer alone was asked for and is not there.
int status_of(const Options& options, const ordered_json& all) {
    bool well = !all.contains("tests") || bench::count_results(all["tests"])["failed"] == 0, missing = false;
    if (all.contains("sanitizer"))
        for (const ordered_json& tool : all["sanitizer"]) {
            well = well && tool.value("clean", true);
            missing = missing || tool.contains("not_available");
        }
    for (const char* part : {"/measured", "/encoders", "/ladder", "/against/rows"}) {
        const ordered_json::json_pointer place(part);
        well = well && !(all.contains(place) && has_ended_row(all[place]));
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
    if (options.from_row >= 0)
        return bench::print_rows(plan_of(options, options.only.front()), static_cast<std::size_t>(options.from_row),
                                 60 * options.minutes, [&] { return options.peers.rehearse || cuda::device_works(); });
    bench::end_children_with_us();
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
        .one_of({"tests", "sanitizer", "kernels", "encoders", "ladder", "peers"});
    program
        .option("--from-row", options.from_row,
                "of the one part that --only names print the rows from this number on, a line of JSON each")
        .within(0, 100000);
    program.flag("--json", options.json, "print JSON");
    return cli::run_program(program, argc, argv, [&] {
        const bool peers = options.wants("peers");
        LOCUS_CHECK(!peers || !options.against.empty(), "--only peers needs --against torch");
        LOCUS_CHECK(peers || (options.peers.python.empty() && options.narrowing.peers.empty() && !options.peers.tune &&
                              !options.peers.rehearse),
                    "--python, --peer, --tune and --rehearse belong to --against torch");
        LOCUS_CHECK(options.from_row < 0 || (options.only.size() == 1 && options.only.front() != "tests" &&
                                             options.only.front() != "sanitizer"),
                    "--from-row needs one part that is measured: --only kernels, encoders, ladder or peers");
        return run(options);
    });
}

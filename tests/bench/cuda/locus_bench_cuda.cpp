// locus bench cuda: what the compiler made of every kernel, and, with a device, all CUDA tests and the measurements.
// It runs where there is nothing but a driver: no library that is not part of it.
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/cli/program.h"
#include "core/io/whole_file.h"
#include "cuda/fused_timing.h"
#include "cuda/ladder/rungs.h"
#include "cuda/roofline.h"
#include "cuda/runtime.h"
#include "tests/bench/cuda/cubin.h"

namespace {

using namespace locus;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Options {
    bool resources = false, json = false;
    std::string report;
};

/// Columns, the first one to the left; what is written here is ASCII.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], row[n].size());
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t n = 0; n < row.size(); ++n) {
            const std::string padding(widths[n] - row[n].size(), ' ');
            text += (n ? "  " : "") + (n ? padding + row[n] : row[n] + padding);
        }
        text += '\n';
    }
    return text;
}

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

/// The test program beside this one: what it printed last, and whether all passed.
ordered_json run_tests() {
    const fs::path program = own_program().parent_path() / "locus-tests-cuda";
    if (!fs::exists(program))
        throw Error(Fault::unreadable, program.string() + " is missing, expected the tests beside this program");
    std::cerr << "running " << program.filename().string() << std::endl;
    std::string quoted = "'";
    for (const char c : program.string()) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    std::FILE* pipe = popen((quoted + "' 2>&1").c_str(), "r");
    if (!pipe) throw Error(Fault::unreadable, program.string() + " cannot be started");
    std::string text;
    std::array<char, 4096> buffer;
    for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        text.append(buffer.data(), got);
    const int status = pclose(pipe);
    std::istringstream lines(text);
    std::string last;
    int skipped = 0;
    for (std::string line; std::getline(lines, line);) {
        skipped += line.starts_with("skipped: ");
        if (line.starts_with("All tests passed") || line.starts_with("test cases:")) last = line;
    }
    if (status != 0) std::cerr << text;
    return {{"passed", status == 0}, {"skipped", skipped}, {"summary", last}};
}

std::string text_of(double value, int decimals) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
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
        const bool forward = kernel == "forward";
        const cuda::TimedKernel timed =
            forward ? cuda::time_fused_forward(shape, which) : cuda::time_fused_backward(shape, which);
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

ordered_json report() {
    if (!cuda::available())
        throw Error(Fault::unsupported,
                    cuda::why_unavailable() + "; nothing was measured, locus bench cuda --resources needs none");
    ordered_json all = {{"device", cuda::device_name()}, {"tests", run_tests()}};
    const bool knows_ceilings = cuda::device_name().find("H200") != std::string::npos;
    all["copy_bytes_per_second"] = cuda::device_bandwidth();
    all["resources"] = resources();
    all["measured"] = ordered_json::array();
    for (const char* kernel : {"forward", "backward"}) {
        for (const char* precision : {"bf16", "f16"})
            for (const cuda::TimedShape& shape : shapes())
                all["measured"].push_back(measure(kernel, shape, precision, knows_ceilings));
        for (const int tokens : {128, 512, 2048})
            all["measured"].push_back(measure(kernel, {1, 12, tokens, 64, 256, 512}, "f32", false));
    }
    all["ladder"] = ordered_json::array();
    for (const int tokens : {128, 512, 2048}) all["ladder"].push_back(measure_ladder(tokens));
    return all;
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
    const ordered_json all = report();
    if (!options.report.empty()) {
        const std::string text = all.dump(1) + "\n";
        write_whole_file(options.report, [&](const ByteSink& sink) { sink(text.data(), text.size()); });
    }
    if (options.json) {
        std::cout << all.dump(1) << '\n';
    } else {
        print_measured(all);
        print_ladder(all);
    }
    return all["tests"]["passed"].get<bool>() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Runs every CUDA test and measures the fused kernels on this machine's device.\n"
        "  locus bench cuda --report build/cuda.json\n"
        "  locus bench cuda --resources     registers and stack of every kernel; needs no device",
        "locus bench cuda");
    Options options;
    app.add_flag("--resources", options.resources, "print what the compiler gave every kernel, from this program");
    app.add_option("--report", options.report, "also write everything into this JSON file")->check(cli::not_empty());
    app.add_flag("--json", options.json, "print JSON");
    return cli::run_program(app, argc, argv, [&] { return run(options); });
}

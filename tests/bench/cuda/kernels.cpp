#include "tests/bench/cuda/measures.h"

#include <iostream>

#include "tests/bench/cuda/roofline.h"
#include "tests/bench/cuda/timing.h"

namespace locus::bench {

using nlohmann::ordered_json;

namespace {

/// One line of the table.
struct KernelLine {
    std::string kernel, precision;
    cuda::TimedShape shape;
    bool forward() const { return !kernel.starts_with("backward"); }
    std::string positions() const { return shape.max_position > 0 ? "log" : "clamp"; }
    ordered_json described() const {
        return {{"kernel", kernel},  {"precision", precision}, {"B", shape.batch},         {"H", shape.heads},
                {"T", shape.tokens}, {"d", shape.width},       {"positions", positions()}, {"k", shape.buckets}};
    }
};

/// What was measured, or the sentence why not.
ordered_json measure(const KernelLine& line) {
    const cuda::TimedShape& shape = line.shape;
    const auto which = line.precision == "f32"   ? cuda::FusedPrecision::f32
                       : line.precision == "f16" ? cuda::FusedPrecision::f16
                                                 : cuda::FusedPrecision::bf16;
    const auto path = line.kernel == "hopper"                 ? cuda::FusedPath::hopper
                      : line.kernel.ends_with("tensor cores") ? cuda::FusedPath::tensor_cores
                                                              : cuda::FusedPath::fastest;
    ordered_json row = line.described();
    std::cerr << line.kernel << " " << line.precision << " B " << shape.batch << " T " << shape.tokens << ", "
              << line.positions() << std::endl;
    try {
        const cuda::TimedKernel timed = line.forward() ? cuda::time_fused_forward(shape, which, 30, path)
                                                       : cuda::time_fused_backward(shape, which, 30, path);
        row["ms"] = timed.milliseconds;
        row["ms_fastest"] = timed.fastest;
        row["ms_slowest"] = timed.slowest;
        row["ms_in_a_graph"] = timed.in_a_graph;
        row["choice"] = timed.choice;
        row["extra_bytes"] = timed.extra_bytes;
        if (line.precision == "f32") return row;
        const RelativeBuckets buckets = shape.max_position > 0
                                            ? RelativeBuckets::logarithmic(shape.tokens, shape.tokens, shape.buckets,
                                                                           shape.max_position, OffsetClamp::official)
                                            : RelativeBuckets::clamped(shape.tokens, shape.tokens, shape.buckets);
        const auto work = line.forward() ? cuda::forward_work : cuda::backward_work;
        const cuda::Ceilings ceilings = cuda::ceilings_of(cuda::device_attributes());
        row["floor_ms"] = 1e3 * work(shape.batch, shape.heads, shape.width, buckets).seconds(ceilings);
        row["share_of_floor"] = row["floor_ms"].get<double>() / std::min(timed.milliseconds, timed.in_a_graph);
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
    all.push_back({2, 12, 8192, 64, 8, 0});  // nearly every tile is far from the diagonal: what those cost alone
    return all;
}

std::vector<KernelLine> lines(const Narrowing& narrowing) {
    std::vector<KernelLine> all;
    const auto add = [&](const std::string& kernel, const char* precision, const cuda::TimedShape& shape) {
        if (narrowing.wants_row(kernel.starts_with("backward") ? "backward" : "forward") &&
            narrowing.wants_tokens(shape.tokens))
            all.push_back({kernel, precision, shape});
    };
    for (const std::string kernel : {"forward", "hopper", "tensor cores", "backward", "backward, tensor cores"}) {
        for (const char* precision : {"bf16", "f16"})
            for (const cuda::TimedShape& shape : shapes()) add(kernel, precision, shape);
        if (kernel == "hopper" || kernel.ends_with("tensor cores")) continue;  // of 16-bit numbers only
        for (const int tokens : {128, 512, 2048}) add(kernel, "f32", {1, 12, tokens, 64, 256, 512});
    }
    return all;
}

}  // namespace

Plan plan_kernels(const Narrowing& narrowing) {
    const std::vector<KernelLine> all = lines(narrowing);
    Plan plan;
    for (const KernelLine& line : all) plan.rows.push_back(line.described());
    plan.measure = [all](std::size_t n, const Plan::SoFar&) { return measure(all[n]); };
    return plan;
}

std::vector<std::vector<std::string>> kernel_table(const ordered_json& kernels) {
    std::vector<std::vector<std::string>> rows = {
        {"kernel", "numbers", "B", "T", "positions", "ms", "in a graph", "floor", "% of it", "how"}};
    const auto text = [](const ordered_json& row, const char* key, int decimals, double factor) {
        return row.contains(key) ? text_of(row[key].get<double>() * factor, decimals) : std::string("-");
    };
    for (const ordered_json& row : kernels)
        rows.push_back({row["kernel"], row["precision"], std::to_string(row["B"].get<int>()),
                        std::to_string(row["T"].get<int>()), row["positions"],
                        row.contains("ms") ? text(row, "ms", 3, 1) : std::string("not measured"),
                        text(row, "ms_in_a_graph", 3, 1), text(row, "floor_ms", 3, 1),
                        text(row, "share_of_floor", 0, 100), row.value("choice", "")});
    return rows;
}

}  // namespace locus::bench

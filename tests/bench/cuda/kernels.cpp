#include "tests/bench/cuda/measures.h"

#include <iostream>

#include "tests/bench/cuda/roofline.h"
#include "tests/bench/cuda/timing.h"

namespace locus::bench {

using nlohmann::ordered_json;

namespace {

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
            const RelativeBuckets line = shape.max_position > 0
                                             ? RelativeBuckets::logarithmic(shape.tokens, shape.tokens, shape.buckets,
                                                                            shape.max_position, OffsetClamp::official)
                                             : RelativeBuckets::clamped(shape.tokens, shape.tokens, shape.buckets);
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

}  // namespace

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

std::vector<std::vector<std::string>> kernel_table(const ordered_json& kernels) {
    std::vector<std::vector<std::string>> rows = {
        {"kernel", "numbers", "B", "T", "positions", "ms", "floor", "% of it", "how"}};
    const auto text = [](const ordered_json& row, const char* key, int decimals, double factor) {
        return row.contains(key) ? text_of(row[key].get<double>() * factor, decimals) : std::string("-");
    };
    for (const ordered_json& row : kernels)
        rows.push_back({row["kernel"], row["precision"], std::to_string(row["B"].get<int>()),
                        std::to_string(row["T"].get<int>()), row["positions"],
                        row.contains("ms") ? text(row, "ms", 3, 1) : std::string("not measured"),
                        text(row, "floor_ms", 3, 1), text(row, "share_of_floor", 0, 100), row.value("choice", "")});
    return rows;
}

}  // namespace locus::bench

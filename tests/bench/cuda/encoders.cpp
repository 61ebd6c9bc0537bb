#include "tests/bench/cuda/encoders.h"

#include <iostream>

#include "cuda/deberta_timing.h"
#include "tests/bench/cuda/columns.h"

namespace locus::bench {

using nlohmann::ordered_json;

namespace {

constexpr int kBatch = 16, kTokens = 512;

struct Numbers {
    const char* name;
    cuda::FusedPrecision precision;
};

ordered_json measured(const cuda::TimedKernel& kernel) {
    return {{"ms", kernel.milliseconds}, {"ms_fastest", kernel.fastest}, {"ms_slowest", kernel.slowest}};
}

ordered_json measure_encoder(const Numbers& numbers, cuda::ProductsBy by) {
    std::cerr << "encoder " << numbers.name << ", products: " << cuda::name_of(by) << std::endl;
    ordered_json row = {
        {"model", "v3-base shape"},      {"precision", numbers.name},      {"B", kBatch}, {"T", kTokens},
        {"products", cuda::name_of(by)}, {"goal", ">= 1.5x the best peer"}};
    try {
        const cuda::TimedEncoder timed =
            cuda::time_encoder(cuda::v3_base_config(), kBatch, kTokens, numbers.precision, by);
        row["products"] = timed.products;
        row["plain"] = measured(timed.plain);
        row["graph"] = measured(timed.graph);
    } catch (const Error& error) {
        row["not_measured"] = error.what();
    }
    return row;
}

}  // namespace

ordered_json measure_encoders() {
    ordered_json all = ordered_json::array();
    for (const Numbers& numbers :
         {Numbers{"bf16", cuda::FusedPrecision::bf16}, Numbers{"f16", cuda::FusedPrecision::f16}})
        for (const cuda::ProductsBy by : {cuda::ProductsBy::own, cuda::ProductsBy::cublas})
            all.push_back(measure_encoder(numbers, by));
    return all;
}

std::vector<std::vector<std::string>> encoder_table(const ordered_json& encoders) {
    std::vector<std::vector<std::string>> rows = {
        {"encoder", "numbers", "B", "T", "products", "ms", "ms in a graph", "goal"}};
    const auto text = [](const ordered_json& row, const char* how) {
        if (!row.contains(how)) return std::string("not measured");
        return text_of(row[how]["ms"].get<double>(), 3);
    };
    for (const ordered_json& row : encoders)
        rows.push_back({row["model"], row["precision"], std::to_string(row["B"].get<int>()),
                        std::to_string(row["T"].get<int>()), row["products"], text(row, "plain"), text(row, "graph"),
                        row["goal"]});
    return rows;
}

}  // namespace locus::bench

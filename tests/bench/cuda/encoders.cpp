#include "tests/bench/cuda/measures.h"

#include <algorithm>
#include <functional>
#include <iostream>

#include "cuda/encoder/encoder.h"
#include "tests/bench/cuda/encoder_problem.h"

namespace locus::bench {

using nlohmann::ordered_json;

namespace {

ordered_json measured(const std::function<double()>& call) {
    constexpr int kWarm = 3, kRounds = 30;
    std::vector<double> times;
    for (int round = 0; round < kWarm + kRounds; ++round) {
        const double ms = call();
        if (round >= kWarm) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return {{"ms", times[times.size() / 2]}, {"ms_fastest", times.front()}, {"ms_slowest", times.back()}};
}

template <class Scalar>
ordered_json measure_encoder(const EncoderProblem& problem, const char* precision, cuda::ProductsBy by) {
    std::cerr << "encoder " << precision << ", products: " << cuda::name_of(by) << std::endl;
    ordered_json row = {{"model", "v3-base shape"},
                        {"precision", precision},
                        {"B", problem.input().tokens.extent(0)},
                        {"T", problem.input().tokens.extent(1)},
                        {"products", cuda::name_of(by)},
                        {"goal", ">= 1.5x the best peer"}};
    try {
        cuda::FastEncoder<Scalar> encoder(problem.config(), problem.weights(), by);
        encoder.prepare(problem.input(), EncoderProblem::options());
        row["products"] = encoder.products();
        row["plain"] = measured([&] { return encoder.run(); });
        row["graph"] = measured([&] { return encoder.replay(); });
    } catch (const Error& error) {
        row["not_measured"] = error.what();
    }
    return row;
}

}  // namespace

void measure_encoders(const Rows& rows) {
    const EncoderProblem problem(16, 512);
    const auto add = [&](const auto& measure) {
        if (!rows.is_over()) rows.add(measure());
    };
    for (const cuda::ProductsBy by : {cuda::ProductsBy::own, cuda::ProductsBy::cublas})
        add([&] { return measure_encoder<cuda::Bfloat16>(problem, "bf16", by); });
    for (const cuda::ProductsBy by : {cuda::ProductsBy::own, cuda::ProductsBy::cublas})
        add([&] { return measure_encoder<cuda::Half>(problem, "f16", by); });
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

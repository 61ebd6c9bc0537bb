#include "tests/bench/cuda/measures.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

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

constexpr int kBatch = 16, kTokens = 512;

/// One line of the table.
struct EncoderLine {
    std::string precision;  // "bf16" or "f16"
    cuda::ProductsBy by;
    ordered_json described() const {
        return {{"model", "v3-base shape"},      {"precision", precision},         {"B", kBatch}, {"T", kTokens},
                {"products", cuda::name_of(by)}, {"goal", ">= 1.5x the best peer"}};
    }
};

template <class Scalar>
ordered_json measure_encoder(const EncoderProblem& problem, const EncoderLine& line) {
    std::cerr << "encoder " << line.precision << ", products: " << cuda::name_of(line.by) << std::endl;
    ordered_json row = line.described();
    try {
        cuda::FastEncoder<Scalar> encoder(problem.config(), problem.weights(), line.by);
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

Plan plan_encoders(const Narrowing& narrowing) {
    Plan plan;
    if (!narrowing.wants_row("model") || !narrowing.wants_tokens(kTokens)) return plan;
    std::vector<EncoderLine> lines;
    for (const char* precision : {"bf16", "f16"})
        for (const cuda::ProductsBy by : {cuda::ProductsBy::own, cuda::ProductsBy::cublas})
            lines.push_back({precision, by});
    for (const EncoderLine& line : lines) plan.rows.push_back(line.described());
    const auto problem = std::make_shared<std::optional<EncoderProblem>>();  // made once, by who measures
    plan.measure = [lines, problem](std::size_t n, const Plan::SoFar&) {
        if (!*problem) problem->emplace(kBatch, kTokens);
        return lines[n].precision == "bf16" ? measure_encoder<cuda::Bfloat16>(**problem, lines[n])
                                            : measure_encoder<cuda::Half>(**problem, lines[n]);
    };
    plan.seconds = 120;
    return plan;
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

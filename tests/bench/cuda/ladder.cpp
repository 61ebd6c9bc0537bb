#include "tests/bench/cuda/measures.h"

#include <cmath>
#include <iostream>
#include <random>

#include "cuda/ladder/kernel_versions.h"
#include "tests/bench/cuda/timing.h"

namespace locus::bench {

using nlohmann::ordered_json;

namespace {

ordered_json measure_at(int tokens) {
    constexpr Index kHeads = 12, kWidth = 64;
    std::cerr << "ladder, T " << tokens << std::endl;
    const RelativeBuckets line = RelativeBuckets::logarithmic(tokens, tokens, 256, 512, OffsetClamp::official);
    cuda::FusedInput input;
    std::mt19937 generator(1);  // zeros would cost less power, and so less time
    std::normal_distribution<float> normal;
    const auto random = [&](const Shape& shape) {
        Tensor<float> made{Shape(shape)};
        for (Index n = 0; n < made.size(); ++n) made[n] = normal(generator);
        return made;
    };
    for (Tensor<float>* one : {&input.q, &input.k, &input.v}) *one = random({1, kHeads, tokens, kWidth});
    for (Tensor<float>* one : {&input.k_r, &input.q_r}) *one = random({kHeads, 2 * line.span(), kWidth});
    input.scale = 1 / std::sqrt(3.0f * kWidth);
    ordered_json row = {{"T", tokens}};
    for (const cuda::NamedVersion& named : cuda::kKernelVersions) {
        try {
            row[named.name] =
                named.version == cuda::KernelVersion::fused
                    ? cuda::time_fused_forward({1, kHeads, tokens, kWidth, 256, 512}, cuda::FusedPrecision::f32)
                          .milliseconds
                    : cuda::time_version(named.version, input, line);
        } catch (const Error& error) {
            row[named.name] = error.what();  // too little memory for the tables of a long text
        }
    }
    return row;
}

}  // namespace

ordered_json measure_ladder() {
    ordered_json all = ordered_json::array();
    for (const int tokens : {128, 512, 2048}) all.push_back(measure_at(tokens));
    return all;
}

std::vector<std::vector<std::string>> ladder_table(const ordered_json& ladder) {
    std::vector<std::vector<std::string>> rows = {{"ladder, f32, ms"}};
    for (const cuda::NamedVersion& named : cuda::kKernelVersions) rows.front().push_back(named.name);
    for (const ordered_json& row : ladder) {
        rows.push_back({"T " + std::to_string(row["T"].get<int>())});
        for (const cuda::NamedVersion& named : cuda::kKernelVersions)
            rows.back().push_back(row[named.name].is_number() ? text_of(row[named.name].get<double>(), 3)
                                                              : std::string("not measured"));
    }
    return rows;
}

}  // namespace locus::bench

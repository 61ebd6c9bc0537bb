#include "tests/bench/cuda/measures.h"

#include <cmath>
#include <iostream>
#include <random>

#include "cuda/ladder/kernel_versions.h"
#include "tests/bench/cuda/timing.h"

namespace locus::bench {

using nlohmann::ordered_json;

namespace {

/// Above the versions in float32: the same on tensor cores, in numbers of 16 bits.
constexpr const char* kLast = "fused, bf16";

std::vector<std::string> step_names() {
    std::vector<std::string> names;
    for (const cuda::NamedVersion& named : cuda::kKernelVersions) names.push_back(named.name);
    names.push_back(kLast);
    return names;
}

ordered_json measure_at(int tokens, const Plan::SoFar& so_far) {
    constexpr Index kHeads = 12, kWidth = 64;
    std::cerr << "ladder, T " << tokens << std::endl;
    const RelativeBuckets buckets = RelativeBuckets::logarithmic(tokens, tokens, 256, 512, OffsetClamp::official);
    cuda::FusedInput input;
    std::mt19937 generator(1);  // zeros would cost less power, and so less time
    std::normal_distribution<float> normal;
    const auto random = [&](const Shape& shape) {
        Tensor<float> made{Shape(shape)};
        for (Index n = 0; n < made.size(); ++n) made[n] = normal(generator);
        return made;
    };
    for (Tensor<float>* one : {&input.q, &input.k, &input.v}) *one = random({1, kHeads, tokens, kWidth});
    for (Tensor<float>* one : {&input.k_r, &input.q_r}) *one = random({kHeads, 2 * buckets.span(), kWidth});
    input.scale = 1 / std::sqrt(3.0f * kWidth);
    ordered_json row = {{"T", tokens}};
    for (const cuda::NamedVersion& named : cuda::kKernelVersions) {
        try {
            row[named.name] =
                named.version == cuda::KernelVersion::fused
                    ? cuda::time_fused_forward({1, kHeads, tokens, kWidth, 256, 512}, cuda::FusedPrecision::f32)
                          .milliseconds
                    : cuda::time_version(named.version, input, buckets);
        } catch (const Error& error) {
            row[named.name] = error.what();  // too little memory for the tables of a long text
        }
        so_far(row);
    }
    try {
        row[kLast] =
            cuda::time_fused_forward({1, kHeads, tokens, kWidth, 256, 512}, cuda::FusedPrecision::bf16).milliseconds;
    } catch (const Error& error) {
        row[kLast] = error.what();
    }
    return row;
}

}  // namespace

Plan plan_ladder(const Narrowing& narrowing) {
    Plan plan;
    for (const int tokens : {128, 512, 2048})
        if (narrowing.wants_tokens(tokens)) plan.rows.push_back({{"T", tokens}});
    plan.measure = [rows = plan.rows](std::size_t n, const Plan::SoFar& so_far) {
        return measure_at(rows[n]["T"], so_far);
    };
    plan.seconds = 120;
    return plan;
}

std::vector<std::vector<std::string>> ladder_table(const ordered_json& ladder) {
    std::vector<std::vector<std::string>> rows = {{"ladder, ms"}};
    for (const std::string& name : step_names()) rows.front().push_back(name);
    for (const ordered_json& row : ladder) {
        rows.push_back({"T " + std::to_string(row["T"].get<int>())});
        double before = 0;
        for (const std::string& name : step_names()) {
            const bool known = row.contains(name) && row[name].is_number();
            const double ms = known ? row[name].get<double>() : 0;
            rows.back().push_back(!known                      ? std::string("not measured")
                                  : before > 0 && ms > before ? text_of(ms, 3) + " (slower here)"
                                                              : text_of(ms, 3));
            if (known) before = ms;
        }
    }
    return rows;
}

}  // namespace locus::bench

#pragma once
// The recorded cases of tests/oracle, and the one way to judge a trace against them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"
#include "core/models/model.h"

namespace locus::test {

namespace fs = std::filesystem;

inline const fs::path kOracle = fs::path(LOCUS_SOURCE_DIR) / "tests" / "oracle";

inline nlohmann::json read_json(const fs::path& file) {
    std::ifstream stream(file);
    REQUIRE(stream);
    return nlohmann::json::parse(stream);
}

struct Case {
    fs::path folder, model;
    nlohmann::json json;
    std::string name() const { return folder.filename().string(); }
    /// The dialect of the code that was recorded.
    Dialect dialect() const {
        return json["source"]["library"].get<std::string>().find("transformers") != std::string::npos
                   ? Dialect::hf
                   : Dialect::official;
    }
};

/// Cases whose folder begins with one of these names, and the trained one if it is named, in order.
inline std::vector<Case> cases_of(const std::vector<std::string>& beginnings, const std::string& trained,
                                  const std::string& trained_model) {
    std::vector<Case> cases;
    for (const auto& entry : fs::directory_iterator(kOracle))
        for (const std::string& beginning : beginnings)
            if (entry.path().filename().string().starts_with(beginning))
                cases.push_back({entry.path(), entry.path() / "model", read_json(entry.path() / "case.json")});
    cases.push_back({kOracle / trained, fs::path(LOCUS_SOURCE_DIR) / "assets/models" / trained_model,
                     read_json(kOracle / trained / "case.json")});
    std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.folder < b.folder; });
    return cases;
}

/// The segments of an input file: "tokens", or "tokens.0", "tokens.1", ...
inline std::vector<ModelInput> read_segments(const fs::path& file, const fs::path& reference) {
    const TensorFile tensors = open_safetensors(file);
    const TensorFile recorded = open_safetensors(reference);
    std::vector<ModelInput> segments;
    for (int s = 0; s == 0 || tensors.find("tokens." + std::to_string(s)); ++s) {
        const std::string suffix = tensors.find("tokens") ? "" : "." + std::to_string(s);
        ModelInput input;
        const auto take = [&](const std::string& name, IndexTensor& target) {
            if (const TensorEntry* entry = tensors.find(name + suffix)) target = read_tensor<std::int64_t>(*entry);
        };
        take("tokens", input.tokens);
        take("mask", input.mask);
        take("token_types", input.token_types);
        take("labels", input.labels);
        take("perm_mask", input.perm_mask);
        take("target_mapping", input.target_mapping);
        take("input_mask", input.input_mask);
        if (const TensorEntry* entry = recorded.find("mlm.positions"))
            input.mask_positions = read_tensor<std::int64_t>(*entry);
        segments.push_back(std::move(input));
    }
    return segments;
}

template <class Scalar>
std::unique_ptr<Model<Scalar>> open_case_model(const fs::path& folder) {
    const Checkpoint checkpoint = open_checkpoint(folder);
    return open_model<Scalar>(checkpoint.config_json, checkpoint.config_file.string(), checkpoint.weights);
}

template <class Scalar>
Trace run_case(const Case& one, Dialect dialect) {
    const auto model = open_case_model<Scalar>(one.model);
    Trace trace =
        model->forward(read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors"), dialect);
    REQUIRE(model->warnings().empty());
    return trace;
}

/// max |found - expected| / max(1, max |expected|) of a stage, the deviation of the oracle's contract; infinity for
/// NaN.
inline double deviation(const Stage& expected, const Stage& found) {
    if (expected.shape() != found.shape() ||
        std::string(expected.dtype() == std::string("I64") ? "I" : "F")[0] != found.dtype()[0])
        return std::numeric_limits<double>::infinity();
    double largest = 0, magnitude = 1;
    for (Index n = 0; n < expected.size(); ++n) {
        const double difference = std::abs(expected.at(n) - found.at(n));
        if (!(difference <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, difference);
        magnitude = std::max(magnitude, std::abs(expected.at(n)));
    }
    return largest / magnitude;
}

/// Every stage of the reference but those named; index stages exactly, the others within allowed(expected, found).
template <class Allowed>
void check_stages(const Trace& reference, const Trace& found, const std::vector<std::string>& without,
                  Allowed allowed) {
    for (const Stage& expected : reference.stages()) {
        if (std::find(without.begin(), without.end(), expected.name) != without.end()) continue;
        INFO(expected.name);
        const Stage* stage = found.find(expected.name);
        REQUIRE(stage);
        CHECK(deviation(expected, *stage) <= (std::string(expected.dtype()) == "I64" ? 0 : allowed(expected, *stage)));
    }
}

inline void check_all(const Trace& reference, const Trace& found, double tolerance,
                      const std::vector<std::string>& without = {}) {
    check_stages(reference, found, without, [&](const Stage&, const Stage&) { return tolerance; });
}

/// float32 is judged by what rounding explains, or by the case where that is wider.
inline void check_all_f32(const Trace& reference, const Trace& found, double tolerance,
                          const std::vector<std::string>& without = {}) {
    check_stages(reference, found, without, [&](const Stage& expected, const Stage& stage) {
        return std::max(tolerance, derived_tolerance(reference, expected, stage).relative);
    });
}

/// Every stage of a case in both precisions, and in float64 against the exact trace where there is one.
inline void check_case(const Case& one) {
    const fs::path reference = one.folder / "trace.safetensors", exact = one.folder / "trace_exact.safetensors";
    const double tolerance = one.json["tolerance"].get<double>();
    const Trace found = run_case<double>(one, one.dialect());
    check_all(read_trace(reference), found, tolerance);
    REQUIRE(fs::exists(exact) == one.json.contains("tolerance_exact"));
    if (fs::exists(exact)) check_all(read_trace(exact), found, one.json["tolerance_exact"].get<double>());
    check_all_f32(read_trace(reference), run_case<float>(one, one.dialect()), tolerance);
}

}  // namespace locus::test

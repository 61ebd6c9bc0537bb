// Every stage of every DeBERTa case that other people's code recorded, in float64 and in float32.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"
#include "core/models/deberta.h"

using namespace locus;
namespace fs = std::filesystem;

namespace {

const fs::path kOracle = fs::path(LOCUS_SOURCE_DIR) / "tests" / "oracle";

nlohmann::json read_json(const fs::path& file) {
    std::ifstream stream(file);
    REQUIRE(stream);
    return nlohmann::json::parse(stream);
}

ModelInput read_inputs(const fs::path& file, const fs::path& reference) {
    ModelInput input;
    const TensorFile tensors = open_safetensors(file);
    const auto take = [&](const char* name, IndexTensor& target) {
        if (const TensorEntry* entry = tensors.find(name)) target = read_tensor<std::int64_t>(*entry);
    };
    take("tokens", input.tokens);
    take("mask", input.mask);
    take("token_types", input.token_types);
    take("labels", input.labels);
    const TensorFile recorded = open_safetensors(reference);
    if (const TensorEntry* entry = recorded.find("mlm.positions"))
        input.mask_positions = read_tensor<std::int64_t>(*entry);
    return input;
}

template <class Scalar>
Trace run(const fs::path& model_folder, const ModelInput& input, Dialect dialect) {
    const Checkpoint checkpoint = open_checkpoint(model_folder);
    const Deberta<Scalar> model(parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string()),
                                checkpoint.weights);
    const Trace trace = model.forward(input, DebertaOptions::of(dialect));
    REQUIRE(model.warnings().empty());
    return trace;
}

/// max |found - expected| / max(1, max |expected|) of a stage, the deviation of the oracle's contract; infinity for
/// NaN.
double deviation(const Stage& expected, const Stage& found) {
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

void check_all(const Trace& reference, const Trace& found, double tolerance,
               const std::vector<std::string>& without = {}) {
    check_stages(reference, found, without, [&](const Stage&, const Stage&) { return tolerance; });
}

/// float32 is judged by what rounding explains, or by the case where that is wider.
void check_all_f32(const Trace& reference, const Trace& found, double tolerance,
                   const std::vector<std::string>& without = {}) {
    check_stages(reference, found, without, [&](const Stage& expected, const Stage& stage) {
        return std::max(tolerance, derived_tolerance(reference, expected, stage).relative);
    });
}

struct Case {
    fs::path folder, model;
    nlohmann::json json;
    Dialect dialect() const {
        return json["source"]["library"].get<std::string>().find("transformers") != std::string::npos
                   ? Dialect::hf
                   : Dialect::official;
    }
};

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const auto& entry : fs::directory_iterator(kOracle)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("hf_deberta_") || name.starts_with("ms_deberta_"))
            cases.push_back({entry.path(), entry.path() / "model", read_json(entry.path() / "case.json")});
    }
    const fs::path trained = kOracle / "tiny_v3_trained";
    cases.push_back({trained, fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3", read_json(trained / "case.json")});
    std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.folder < b.folder; });
    return cases;
}

}  // namespace

TEST_CASE("oracle: every DeBERTa case, float64", "[oracle][deberta]") {
    const std::vector<Case> cases = all_cases();
    REQUIRE(cases.size() == 18);
    for (const Case& one : cases) DYNAMIC_SECTION(one.folder.filename().string()) {
            const fs::path reference = one.folder / "trace.safetensors";
            const Trace found =
                run<double>(one.model, read_inputs(one.folder / "inputs.safetensors", reference), one.dialect());
            check_all(read_trace(reference), found, one.json["tolerance"].get<double>());
            const fs::path exact = one.folder / "trace_exact.safetensors";
            REQUIRE(fs::exists(exact) == one.json.contains("tolerance_exact"));
            if (fs::exists(exact)) check_all(read_trace(exact), found, one.json["tolerance_exact"].get<double>());
        }
}

TEST_CASE("oracle: every DeBERTa case, float32", "[oracle][deberta]") {
    for (const Case& one : all_cases()) DYNAMIC_SECTION(one.folder.filename().string()) {
            const fs::path reference = one.folder / "trace.safetensors";
            const Trace found =
                run<float>(one.model, read_inputs(one.folder / "inputs.safetensors", reference), one.dialect());
            check_all_f32(read_trace(reference), found, one.json["tolerance"].get<double>());
        }
}

TEST_CASE("oracle: one model in nine file layouts", "[oracle][formats]") {
    const nlohmann::json json = read_json(kOracle / "formats" / "case.json");
    REQUIRE(json["variants"].size() == 9);
    for (const auto& [name, variant] : json["variants"].items()) DYNAMIC_SECTION(name) {
            const fs::path reference = kOracle / "formats" / variant["trace"].get<std::string>();
            const auto without = variant.value("without", std::vector<std::string>{});
            const ModelInput input = read_inputs(kOracle / "formats" / "inputs.safetensors", reference);
            const Trace expected = read_trace(reference);
            const double tolerance = json["tolerance"].get<double>();
            check_all(expected, run<double>(kOracle / "formats" / name, input, Dialect::hf), tolerance, without);
            check_all_f32(expected, run<float>(kOracle / "formats" / name, input, Dialect::hf), tolerance, without);
        }
}

TEST_CASE("oracle: the official dialect differs from Hugging Face only where it should", "[oracle][dialect]") {
    const fs::path folder = kOracle / "hf_deberta_v2_short";
    const ModelInput input = read_inputs(folder / "inputs.safetensors", folder / "trace.safetensors");
    const Trace hf = run<double>(folder / "model", input, Dialect::hf);
    const Trace official = run<double>(folder / "model", input, Dialect::official);
    CHECK(deviation(hf.at("layer.0.scores"), official.at("layer.0.scores")) == 0);
    const auto& a = hf.at("layer.0.probs").as<double>();
    const auto& b = official.at("layer.0.probs").as<double>();
    Index hidden_rows = 0;
    for (Index row = 0; row < a.rows().rows(); ++row) {
        if (a.rows().row(row) == b.rows().row(row)) continue;
        ++hidden_rows;
        CHECK(b.rows().row(row).isZero(0));
        CHECK((a.rows().row(row).array() == a.rows()(row, 0)).all());
    }
    CHECK(hidden_rows > 0);
}

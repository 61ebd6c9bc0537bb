// Every stage of every DeBERTa case that other people's code recorded, in float64 and in float32.
#include "core/models/deberta.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_oracle_deberta {

namespace {

template <class Scalar>
Trace run(const fs::path& model_folder, const ModelInput& input, Dialect dialect) {
    const auto model = open_case_model<Scalar>(model_folder);
    Trace trace = model->forward({input}, dialect);
    REQUIRE(model->warnings().empty());
    return trace;
}

}  // namespace

TEST_CASE("oracle: every DeBERTa case", "[oracle][deberta]") {
    const std::vector<Case> cases = cases_of({"hf_deberta_", "ms_deberta_"}, "tiny_v3_trained", "tiny-v3");
    REQUIRE(cases.size() == 21);
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            check_case(one);
        }
}

TEST_CASE("oracle: one model in nine file layouts", "[oracle][formats]") {
    const nlohmann::json json = read_json(kOracle / "formats" / "case.json");
    REQUIRE(json["variants"].size() == 9);
    for (const auto& [name, variant] : json["variants"].items()) DYNAMIC_SECTION(name) {
            const fs::path reference = kOracle / "formats" / variant["trace"].get<std::string>();
            const auto without = variant.value("without", std::vector<std::string>{});
            const ModelInput input = read_segments(kOracle / "formats" / "inputs.safetensors", reference).front();
            const Trace expected = read_trace(reference);
            const double tolerance = json["tolerance"].get<double>();
            check_all(expected, run<double>(kOracle / "formats" / name, input, Dialect::hf), tolerance, without);
            check_all_f32(expected, run<float>(kOracle / "formats" / name, input, Dialect::hf), tolerance, without);
        }
}

TEST_CASE("oracle: the official dialect differs from Hugging Face only where it should", "[oracle][dialect]") {
    const fs::path folder = kOracle / "hf_deberta_v2_short";
    const ModelInput input = read_segments(folder / "inputs.safetensors", folder / "trace.safetensors").front();
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

}  // namespace locus::test::test_oracle_deberta

// A wrong stage is explained by the mistake that made it, and by no other.
#include <catch2/catch.hpp>

#include "core/io/safetensors.h"
#include "core/models/deberta.h"
#include "tests/conformance/diagnosis.h"
#include "tests/oracle_cases.h"

using namespace locus;
using namespace locus::conformance;

TEST_CASE("diagnosis: a port that follows the paper is mistake 1", "[kit]") {
    const std::string folder = std::string(LOCUS_SOURCE_DIR) + "/tests/oracle/ms_deberta_v3_emd/";
    const Trace reference = read_trace(folder + "trace_exact.safetensors");
    const auto model = ModelFolder::open(folder + "model");
    const std::vector<ModelInput> segments =
        test::read_segments(folder + "inputs.safetensors", folder + "trace.safetensors");
    Deberta<float> port(parse_deberta_config(model->config_json, model->location), model->source);
    const Trace candidate = port.forward(segments.front(), DebertaOptions::of(Dialect::paper));
    const Comparison comparison = compare(reference, candidate);
    REQUIRE(comparison.first() != nullptr);
    CHECK(comparison.first()->name == "layer.0.p2c");
    const Diagnosis diagnosis = diagnose({reference, candidate, model, segments}, comparison, *comparison.first());
    REQUIRE(diagnosis.named);
    CHECK(diagnosis.named->mistake == 1);
    CHECK(diagnosis.equivalent.empty());
}

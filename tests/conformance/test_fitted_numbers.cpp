// Names whose number is read off the candidate: a base, a factor, one scale per pair of channels, an output matrix.
// Few numbers must explain many values, and what any numbers would explain gets no name.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/conformance/diagnosis/all_mistakes.h"
#include "core/conformance/diagnosis/diagnosis.h"
#include "core/positions/offset_bias.h"
#include "core/positions/rope_scaling.h"
#include "tests/changed_model.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/conformance/toy/toy_port.h"

namespace locus::test::test_fitted_numbers {

using namespace locus::conformance;

namespace {

/// What is said of a candidate's first wrong stage, without a model and without inputs.
Diagnosis said_of(const Trace& reference, const Trace& candidate) {
    const Comparison comparison = compare(reference, candidate);
    REQUIRE(comparison.first());
    return diagnose({reference, candidate, nullptr, {}}, comparison, *comparison.first());
}

template <class Scalar>
Tensor<Scalar> rounded(const Matrix<double>& values) {
    Tensor<Scalar> tensor({values.rows(), values.cols()});
    for (Index n = 0; n < tensor.size(); ++n) tensor[n] = static_cast<Scalar>(values.data()[n]);
    return tensor;
}

/// rotary.sin and rotary.cos as a float32 port writes them.
Trace angles(const std::vector<double>& theta, double length = 1, Index positions = 20) {
    const RotaryTable<double> table = rotary_table<double>(theta, 0, positions, length);
    Trace trace{StageFilter{}, Scheme::rotary};
    trace.add<float>("rotary.sin", rounded<float>(table.sin));
    trace.add<float>("rotary.cos", rounded<float>(table.cos));
    return trace;
}

std::vector<double> divided(std::vector<double> theta, const std::vector<double>& by) {
    for (std::size_t t = 0; t < theta.size(); ++t) theta[t] /= by[t];
    return theta;
}

void check_name(const Diagnosis& diagnosis, int mistake, const std::string& how) {
    INFO(diagnosis.pattern);
    REQUIRE(diagnosis.named);
    CHECK(diagnosis.named->mistake == mistake);
    CHECK(diagnosis.named->how == how);
    CHECK(diagnosis.equivalent.empty());
}

}  // namespace

TEST_CASE("fitted numbers: a head that reads the checkpoint's second output matrix is told where it lies",
          "[kit][fitted]") {
    const fs::path recorded = kOracle / "hf_deberta_v2_short";
    const TemporaryFolder folder;
    copy_changed(recorded / "model", folder / "model", nlohmann::json::object(),
                 {{"lm_head.decoder.weight", {29, 12}}});
    const std::vector<ModelInput> segments =
        read_segments(recorded / "inputs.safetensors", recorded / "trace.safetensors");
    toy::ToyOptions options;
    options.hugging_face = true;
    options.injected = toy::Injection{112, 0};
    const Trace port = toy::run_toy<float>((folder / "model").string(), segments, options);
    const Trace reference = read_trace(recorded / "trace.safetensors");
    const auto model = ModelFolder::open((folder / "model").string());
    const Comparison comparison = compare(reference, port);
    REQUIRE(comparison.first());
    CHECK(comparison.first()->name == "mlm.logits");
    check_name(diagnose({reference, port, model, segments, Dialect::hf}, comparison, *comparison.first()), 112,
               "another matrix of the checkpoint");
}

TEST_CASE("fitted numbers: an eps of the norms that is not listed is told in every family", "[kit][fitted]") {
    const std::vector<std::pair<std::string, std::string>> cases = {{"hf_deberta_v1", "embeddings.output"},
                                                                    {"hf_roformer", "embeddings.output"},
                                                                    {"txl_basic", "segment.0.layer.0.attention"},
                                                                    {"hf_xlnet_bi", "layer.0.attention"}};
    for (const auto& [name, stage] : cases) {
        const fs::path folder = kOracle / name;
        const toy::Range range = toy::range_of({folder, folder / "model", read_json(folder / "case.json")});
        toy::ToyOptions options;
        options.hugging_face = range.hugging_face;
        options.injected = toy::Injection{40, 7};
        const Trace port = toy::run_toy<float>(range.model_folder, range.segments, options);
        const Comparison comparison = compare(range.recorded, port);
        INFO(name);
        REQUIRE(comparison.first());
        CHECK(comparison.first()->name == stage);
        const Dialect dialect = range.hugging_face ? Dialect::hf : Dialect::official;
        const Diagnosis said =
            diagnose({range.recorded, port, range.model, range.segments, dialect}, comparison, *comparison.first());
        for (const Explanation& each : said.judged)
            if (each.mistake == 40) UNSCOPED_INFO(each.how << " leaves " << each.residual << " of " << each.allowed);
        check_name(said, 40, "an eps of its own: eps 0.00025");
    }
}

TEST_CASE("fitted numbers: the attention factor of YaRN is named where it is left out, and where it is applied",
          "[kit][fitted]") {
    const RopeFrequencies yarn = rope_frequencies(16, parse_rope_scaling("yarn,4,32"), 20);
    const Trace with = angles(yarn.theta, yarn.attention_factor), without = angles(yarn.theta);
    check_name(said_of(with, without), 109, "left out: length 1 for 1.138629");
    check_name(said_of(without, with), 109, "applied where there is none: length 1.138629 for 1");
    check_name(said_of(with, angles(yarn.theta, 1.5)), 109, "another factor: length 1.5 for 1.138629");
}

TEST_CASE("fitted numbers: the factors of LongRoPE for another length are named, base and factor by their number",
          "[kit][fitted]") {
    const std::vector<double> plain = inverse_frequencies(16);
    const Trace brief = angles(divided(plain, {1, 1.1, 1.2, 1.4, 1.6, 2, 2.5, 3}));
    const Trace extended = angles(divided(plain, {1, 1.5, 2, 3, 8, 20, 40, 64}));
    check_name(said_of(brief, extended), 108, "at all positions");
    check_name(said_of(extended, brief), 108, "at all positions");
    check_name(said_of(angles(plain), angles(inverse_frequencies(16, 42000))), 89, "a base of its own: base 42000");
    check_name(said_of(angles(plain), angles(inverse_frequencies(16, 160000))), 89, "base 160000");
    check_name(said_of(angles(plain), angles(divided(plain, std::vector<double>(8, 3)))), 90,
               "by a factor of its own: positions times 0.333333");
}

TEST_CASE("fitted numbers: a model that scales its angles is the measure of what a port leaves out", "[kit][fitted]") {
    const std::vector<double> plain = inverse_frequencies(16);
    const std::vector<double> scaled = divided(plain, {1, 1, 1.3, 2, 2.9, 4, 4, 4});
    check_name(said_of(angles(scaled), angles(plain)), 108, "the model's scale is left out: 10000^(-2t/d)");
    check_name(said_of(angles(inverse_frequencies(16, 500000)), angles(plain)), 89, "a base of its own: base 10000");
    check_name(said_of(angles(divided(scaled, {8, 8, 8, 8, 8, 8, 8, 8})), angles(scaled)), 90,
               "by a factor of its own: positions times 8");
    // Positions from 1, by the model's own angles and their length.
    const RotaryTable<double> table = rotary_table<double>(scaled, 1, 20, 1.1);
    Trace later{StageFilter{}, Scheme::rotary};
    later.add<float>("rotary.sin", rounded<float>(table.sin));
    later.add<float>("rotary.cos", rounded<float>(table.cos));
    check_name(said_of(angles(scaled, 1.1), later), 94, "every token stands one place further on");
}

TEST_CASE("fitted numbers: what any base would explain, or no angles at all, gets no name", "[kit][fitted]") {
    // Of two pairs with the first one right, a base and a factor per pair are the same.
    const std::vector<double> two = inverse_frequencies(4);
    CHECK_FALSE(said_of(angles(two), angles({1, 0.3})).named);
    CHECK_FALSE(said_of(angles(two), angles({1, 0.3}, 1, 2)).named);
    // No multiple of a position.
    const Trace right = angles(inverse_frequencies(16));
    Matrix<double> noise(20, 8);
    for (Index n = 0; n < noise.size(); ++n) noise.data()[n] = std::sin(1.7 * static_cast<double>(n * n + 1));
    Trace strange{StageFilter{}, Scheme::rotary};
    strange.add<float>("rotary.sin", rounded<float>(noise));
    strange.add<float>("rotary.cos", rounded<float>(Matrix<double>((1 - noise.array().square()).sqrt())));
    CHECK_FALSE(said_of(right, strange).named);
    // One wrong value among right ones.
    Trace slip{StageFilter{}, Scheme::rotary};
    for (const char* name : {"rotary.sin", "rotary.cos"}) {
        Tensor<float> values = right.at(name).as<float>();
        if (std::string(name) == "rotary.sin") values[33] += 0.1F;
        slip.add<float>(name, std::move(values));
    }
    CHECK_FALSE(said_of(right, slip).named);
}

TEST_CASE("fitted numbers: causal T5 buckets in place of those of both sides are named, and the reverse",
          "[kit][fitted]") {
    const auto index = [](const T5Buckets& config) {
        Trace trace;
        trace.add<std::int64_t>("relative.index", t5_index(40, 40, config));
        return trace;
    };
    const Trace both = index({32, 128, true}), causal = index({32, 128, false});
    check_name(said_of(both, causal), 110, "causal buckets, those of a decoder, where the model has both sides");
    check_name(said_of(causal, both), 110, "buckets of both sides where the model has those of a decoder");
    CHECK_FALSE(said_of(both, index({64, 128, true})).named);
}

}  // namespace locus::test::test_fitted_numbers

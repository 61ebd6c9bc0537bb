// A wrong stage is explained by the mistake that made it, and by no other.
#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>

#include "core/conformance/diagnosis/diagnosis.h"
#include "core/io/safetensors.h"
#include "core/models/deberta.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_diagnosis {

using namespace locus::conformance;

namespace {

/// A recorded case, and a port that makes one mistake at one stage and reports the stages that `globs` keep.
struct Slipped {
    Slipped(const std::string& stage, int mistake, const std::string& globs) {
        const std::string folder = std::string(LOCUS_SOURCE_DIR) + "/tests/oracle/ms_deberta_v3_emd/";
        reference = read_trace(folder + "trace_exact.safetensors");
        model = ModelFolder::open(folder + "model");
        segments = test::read_segments(folder + "inputs.safetensors", folder + "trace.safetensors");
        const auto [scope, stem] = scope_and_stem(stage);
        const Evidence right{reference, reference, model, segments};
        const Tensor<double> wrong = Replay(right, scope, mistake_of(mistake).variants.front().formulas).computed(stem);
        const StageFilter kept(globs);
        for (const Stage& each : reference.stages())
            if (each.name == stage)
                candidate.add<double>(stage, wrong);
            else if (kept.keeps(each.name))
                candidate.add(each);
        const Comparison comparison = compare(reference, candidate);
        REQUIRE(comparison.first() != nullptr);
        REQUIRE(comparison.first()->name == stage);
        diagnosis = diagnose(evidence(), comparison, *comparison.first());
    }
    Evidence evidence() const { return {reference, candidate, model, segments}; }
    bool judged(int mistake) const {
        return std::any_of(diagnosis.judged.begin(), diagnosis.judged.end(),
                           [&](const Explanation& each) { return each.mistake == mistake; });
    }

    Trace reference, candidate;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
    Diagnosis diagnosis;
};

double largest_of(const Tensor<double>& values) {
    double size = 0;
    for (const double value : values.values()) size = std::max(size, std::abs(value));
    return size;
}

}  // namespace

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

TEST_CASE("diagnosis: what was given up early leaves no less than is said of it", "[kit]") {
    const std::string stage = "layer.0.probs";
    const Slipped port(stage, 32, "*");
    REQUIRE(port.diagnosis.named);
    CHECK(port.diagnosis.named->mistake == 32);
    const Evidence evidence = port.evidence();
    const Tensor<double> found = widened(port.candidate.at(stage));
    int bounds = 0;
    for (const Explanation& each : port.diagnosis.judged) {
        if (!each.is_bound) continue;
        ++bounds;
        CHECK_FALSE(each.fits());
        double least = std::numeric_limits<double>::infinity();  // several variants may have the same words
        for (const Variant& variant : mistake_of(each.mistake).variants) {
            if (variant.how != each.how) continue;
            const Tensor<double> predicted = Replay(evidence, "layer.0.", variant.formulas).computed("probs");
            double worst = 0;
            for (Index n = 0; n < found.size(); ++n) {
                const double difference = std::abs(found[n] - predicted[n]);
                worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(worst, difference);
            }
            least = std::min(least, worst / largest_of(predicted));
        }
        INFO("mistake " << each.mistake << ": " << each.how);
        CHECK_FALSE(least < each.residual);
    }
    CHECK(bounds >= 10);
}

TEST_CASE("diagnosis: what stands before stages that are right is not to blame", "[kit]") {
    // eps of the embeddings' norm reaches p2c through k, which one dump reports and has right.
    const Slipped with_k("layer.0.p2c", 1, "layer.0.k,layer.0.q_r"), alone("layer.0.p2c", 1, "layer.0.p2c");
    CHECK_FALSE(with_k.judged(40));
    CHECK(alone.judged(40));
    for (const Slipped* port : {&with_k, &alone}) {
        REQUIRE(port->diagnosis.named);
        CHECK(port->diagnosis.named->mistake == 1);
    }
}

}  // namespace locus::test::test_diagnosis

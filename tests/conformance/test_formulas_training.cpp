// Replaced-token detection and SiFT: every recorded stage follows from the others by its right formula.
#include <catch2/catch.hpp>
#include <set>

#include "tests/conformance/recorded.h"
#include "tests/conformance/training_case.h"

namespace locus::test::test_formulas_training {

using namespace locus::conformance;

namespace {

/// Checks every stage of the exact trace; returns the names that were checked.
std::set<std::string> check_exactly(const TrainingCase& one) {
    const Trace reference = one.with_noise(one.exact);
    const Evidence evidence{reference, reference, one.model, one.segments, Dialect::official};
    const double allowed = one.json["tolerance_exact"].get<double>();
    std::set<std::string> checked;
    for (const Stage& stage : one.exact.stages()) {
        if (stage.name.starts_with("grad.")) continue;  // of parameters: no formula of a pass
        INFO(one.name << " " << stage.name);
        const auto [scope, stem] = scope_and_stem(stage.name);
        double size = 1;
        for (Index n = 0; n < stage.size(); ++n) size = std::max(size, std::abs(stage.at(n)));
        Tensor<double> found;
        CHECK_NOTHROW(found = Replay(evidence, scope).computed(stem));
        CHECK(distance(found, widened(stage)) <= allowed * size);
        checked.insert(stage.name);
    }
    return checked;
}

}  // namespace

TEST_CASE("formulas: every stage of replaced-token detection follows from the others", "[kit][oracle]") {
    const std::set<std::string> checked = check_exactly(training_case("ms_rtd"));
    for (const char* stage : {"rtd.norm", "rtd.transform", "rtd.logits", "rtd.labels", "rtd.loss", "layer.1.output"})
        CHECK(checked.count(stage) == 1);
}

TEST_CASE("formulas: every stage of SiFT follows from the others, its gradient too", "[kit][oracle]") {
    const std::set<std::string> checked = check_exactly(training_case("ms_sift"));
    for (const char* stage : {"xhat", "delta0", "logits_clean", "logits0", "loss0", "grad", "delta", "logits", "loss"})
        CHECK(checked.count(std::string("sift.") + stage) == 1);
}

TEST_CASE("stages: those of SiFT are described, stand in the order of a pass, and no other name is known", "[stages]") {
    for (const char* name : {"ms_rtd", "ms_sift"}) {
        const TrainingCase one = training_case(name);
        for (const Stage& stage : one.exact.stages()) {
            if (stage.name.starts_with("grad.")) continue;
            INFO(stage.name);
            const auto known = describe_stage(stage.name);
            REQUIRE(known);
            CHECK(known->axes.size() == stage.shape().size());
            CHECK_FALSE(known->formula.empty());
            CHECK_FALSE(known->source.empty());
        }
    }
    CHECK(stage_comes_before("sift.xhat", "sift.delta0"));
    CHECK(stage_comes_before("sift.grad", "sift.delta"));
    CHECK(stage_comes_before("sift.loss0", "sift.grad"));
    CHECK_FALSE(describe_stage("sift.detla"));
    CHECK_FALSE(describe_stage("sift."));
    CHECK_FALSE(describe_stage("rtd.label"));
}

}  // namespace locus::test::test_formulas_training

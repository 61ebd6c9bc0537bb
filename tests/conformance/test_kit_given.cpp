// What a case hands to a port is right, and no mistake of the port made it; what it does not say follows its dialect.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core/conformance/kit/pair.h"
#include "core/conformance/kit/rehearse.h"
#include "tests/conformance/kit_fixture.h"

namespace locus::test::test_kit_given {

namespace {

/// Numbers of all mistakes that are named, 0 for a stage without a name.
std::multiset<int> named_in(const CaseReport& report) {
    std::multiset<int> all;
    REQUIRE(report.all);
    for (const WrongStage& stage : report.all->stages)
        all.insert(stage.diagnosis.named ? stage.diagnosis.named->mistake : 0);
    return all;
}

Tensor<double> given(const std::string& id, const std::string& stage) {
    return read_trace(KitFixture::one(id).folder / "inputs.safetensors").at(stage).as<double>();
}

/// One stage of a port.
Trace only(const std::string& name, const Tensor<double>& values) {
    Trace trace;
    trace.add<double>(name, values);
    return trace;
}

const Variant& way_of(int number, const std::string& how) {
    const std::vector<Variant>& ways = mistake_of(number).variants;
    const auto found = std::find_if(ways.begin(), ways.end(), [&](const Variant& way) { return way.how == how; });
    REQUIRE(found != ways.end());
    return *found;
}

}  // namespace

TEST_CASE("kit given: a term that a case gives was not made wrong by a mask", "[kit]") {
    // A mask that hides the memory would make bd 0 wherever same_length shows a key; bd is given, so it was left out.
    for (const std::string& id : {std::string("L1/txl_probs"), std::string("L1/txl_probs_same_length")}) {
        INFO(id);
        const std::string layer = id == "L1/txl_probs" ? "segment.1.layer.0." : "segment.2.layer.0.";
        Tensor<double> scores = given(id, layer + "ac");
        for (Index n = 0; n < scores.size(); ++n) scores[n] /= 2;  // sqrt(d)
        CHECK(named_in(check_one(id, only(layer + "scores", scores))) == std::multiset<int>{86});
    }
}

TEST_CASE("kit given: a mistake everywhere is seen in a case that gives the stage before", "[kit]") {
    const KitCase& one = KitFixture::one("L1/norm_post");
    const MistakenPass port = rehearse_case(KitFixture::kit(), one, way_of(40, "unbiased variance"));
    REQUIRE(port.changed.size() == 1);
    const CaseReport report = check_one(one.id, port.trace);
    CHECK(named_in(report) == std::multiset<int>{40});
    // A way that speaks of this norm alone comes before one that speaks of the given attention, too.
    const MistakenPass coarse = rehearse_case(KitFixture::kit(), one, way_of(40, "eps 1e-3"));
    const CaseReport of_eps = check_one(one.id, coarse.trace);
    REQUIRE(of_eps.diagnosis);
    REQUIRE(of_eps.diagnosis->named);
    CHECK(of_eps.diagnosis->named->how == "eps 1e-3, at least in the norm after the feed-forward part");
}

TEST_CASE("kit given: probabilities of given scores are not the fault of how scores are scaled", "[kit]") {
    const KitCase& one = KitFixture::one("L1/softmax_masked");
    const Tensor<double> right = reference_of(one).at("layer.0.probs").as<double>();
    for (const double factor : {0.5, 2.0}) {
        Tensor<double> probs(right.shape());
        const Index keys = right.extent(3);
        for (Index row = 0; row < right.size() / keys; ++row) {
            double sum = 0;
            for (Index j = 0; j < keys; ++j) sum += std::pow(right[row * keys + j], factor);
            for (Index j = 0; j < keys; ++j)
                probs[row * keys + j] = sum > 0 ? std::pow(right[row * keys + j], factor) / sum : 0;
        }
        const CaseReport report = check_one(one.id, only("layer.0.probs", probs));
        CHECK(named_in(report) == std::multiset<int>{0});
        REQUIRE(report.diagnosis);
        INFO(report.diagnosis->pattern);
        CHECK(report.diagnosis->pattern.find(factor < 1 ? "the softmax of 0.5 times the scores"
                                                        : "the softmax of 2 times the scores") != std::string::npos);
    }
}

TEST_CASE("kit given: where no probs are recorded a hidden query is what the case's dialect makes of it", "[kit]") {
    // Both cases are of transformers, where such rows are uniform: the layers are right but for their input.
    for (const char* id : {"L3/hf_deberta_v2_text_classes", "L3/hf_deberta_v1_token_classes"}) {
        INFO(id);
        const KitCase& one = KitFixture::one(id);
        const MistakenPass port = rehearse_case(KitFixture::kit(), one, mistake_of(42).variants.front());
        REQUIRE_FALSE(port.changed.empty());
        CHECK(named_in(check_one(id, port.trace)) == std::multiset<int>{42});
        // Nobody tells the dialect of a pair of traces: the reference's own layers show it.
        const Trace reference = reference_of(one);  // a pair looks at its traces
        TracePair pair{reference, port.trace};
        pair.model = ModelFolder::open(one.model().string());
        pair.segments = segments_in(one.folder / "inputs.safetensors");
        pair.accuracy = one.accuracy;
        CHECK(named_in(judge_pair(pair)) == std::multiset<int>{42});
    }
}

}  // namespace locus::test::test_kit_given

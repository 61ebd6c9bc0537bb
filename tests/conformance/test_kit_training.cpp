// Replaced tokens and SiFT as a porter meets them: dumps of the kit's cases, in both precisions.
#include <catch2/catch.hpp>

#include "core/conformance/kit/kit_dialect.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/toy/recorded_training.h"

namespace locus::test::test_kit_training {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

CaseReport checked(const std::string& name, const Trace& candidate) {
    Dump dump;
    for (const Stage& stage : candidate.stages()) {
        dump.trace.add(stage);
        dump.stored[stage.name] = stage.dtype();
    }
    const Kit& kit = test::KitFixture::kit();
    return check_case(kit, test::KitFixture::one("L3/" + name), dump, {});
}

}  // namespace

TEST_CASE("kit: dumps of replaced tokens and SiFT pass, and each slip is named", "[kit][mutation]") {
    const std::vector<TrainingCase> cases = {training_case("ms_rtd"), training_case("ms_sift")};
    for (const TrainingCase& one : cases) {
        CHECK(checked(one.name, run_training<float>(one, {})).verdict == Verdict::pass);
        CHECK(checked(one.name, run_training<double>(one, {})).verdict == Verdict::pass);
    }
    for (const KnownSlip& known : training_slips()) {
        const TrainingCase& one = case_of(cases, known.slip);
        const std::vector<Trace> dumps = {run_training<float>(one, known.slip), run_training<double>(one, known.slip)};
        for (const Trace& dump : dumps) {
            INFO(known.slip.mistake << ", " << known.what << ", " << dump.stages().front().dtype());
            const CaseReport report = checked(one.name, dump);
            CHECK(report.verdict == Verdict::fail);
            REQUIRE(report.diagnosis);
            REQUIRE(report.diagnosis->named);
            CHECK(report.diagnosis->named->mistake == known.slip.mistake);
        }
    }
}

TEST_CASE("kit: noise that is not cut is wrong in delta0 and is no mistake of the catalogue", "[kit]") {
    const TrainingCase one = training_case("ms_sift");
    const Trace right = run_training<double>(one, {});
    Trace candidate;
    for (const Stage& stage : right.stages())
        candidate.add(stage.name == "sift.delta0" ? test::named(stage.name, one.inputs.at("noise").values) : stage);
    const CaseReport report = checked("ms_sift", candidate);
    REQUIRE(report.first);
    CHECK(report.first->name == "sift.delta0");
    REQUIRE(report.diagnosis);
    CHECK_FALSE(report.diagnosis->named);
    // The right formula was judged: the noise of the case was at hand.
    REQUIRE(report.diagnosis->judged.size() == 1);
    CHECK(report.diagnosis->judged.front().mistake == 0);
    CHECK_FALSE(report.diagnosis->judged.front().fits());
}

TEST_CASE("kit: replaced tokens and SiFT are the same under every dialect, and say sigma and eta", "[kit]") {
    const Kit& kit = test::KitFixture::kit();
    for (const char* id : {"L3/ms_rtd", "L3/ms_sift"})
        for (const Dialect dialect : {Dialect::hf, Dialect::paper, Dialect::reference}) {
            INFO(id << " " << to_string(dialect));
            CHECK(reference_under(kit, test::KitFixture::one(id), dialect).names() == test::KitFixture::one(id).stages);
        }
    CHECK(test::KitFixture::one("L3/ms_sift").config.at("sigma") == 0.01);
    CHECK(test::KitFixture::one("L3/ms_sift").config.at("learning_rate") == 0.1);
    CHECK(test::KitFixture::one("L3/ms_rtd").config.empty());
}

}  // namespace locus::test::test_kit_training

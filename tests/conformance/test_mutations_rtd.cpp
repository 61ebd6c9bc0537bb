// Mistakes 54 and 55 made in ports of replaced-token detection and SiFT: each is caught, named, and never taken for
// another.
#include <catch2/catch.hpp>

#include "tests/conformance/recorded.h"
#include "tests/conformance/toy/mutation_table.h"
#include "tests/conformance/toy/recorded_training.h"

namespace locus::test::test_mutations_rtd {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

std::vector<TrainingCase> both_cases() { return {training_case("ms_rtd"), training_case("ms_sift")}; }

std::string said(const Finding& finding) {
    return finding.where + ", " + finding.dump + ", " + finding.first + " -> " + std::to_string(finding.named);
}

/// The farthest that a variant leads from a recorded stage, in units of the case's own accuracy; another shape counts
/// as far.
double farthest(const TrainingCase& one, const Variant& variant) {
    const Trace known = one.with_noise(one.exact);
    const Evidence evidence{known, known, one.model, one.segments, Dialect::official};
    double worst = 0;
    for (const Stage& stage : one.exact.stages()) {
        if (!stage.name.starts_with("rtd.") && !stage.name.starts_with("sift.")) continue;
        if (stage.name == "sift.grad") continue;  // slow, and no variant begins there
        const auto [scope, stem] = scope_and_stem(stage.name);
        const Replay replay(evidence, scope, variant.formulas);
        if (!replay.touches(stem)) continue;
        const double missed = distance(replay.computed(stem), widened(stage));
        worst = std::max(worst, missed / one.json["tolerance_exact"].get<double>());
    }
    return worst;
}

}  // namespace

TEST_CASE("mutations: a right port of replaced tokens and of SiFT raises no alarm", "[kit][mutation]") {
    for (const TrainingCase& one : both_cases()) {
        INFO(one.name);
        CHECK(judged(one, one.recorded, run_training<float>(one, {}), true).first == "");
        CHECK(judged(one, one.exact, run_training<double>(one, {}), false).first == "");
    }
}

TEST_CASE("mutations: ports of replaced-token detection and of SiFT", "[kit][mutation]") {
    const std::vector<TrainingCase> cases = both_cases();
    for (const KnownSlip& known : training_slips()) {
        INFO("mistake " << known.slip.mistake << ", variant " << known.slip.variant << ": " << known.what);
        int named_whole = 0;
        const std::vector<Finding> all = try_training_slip(known.slip, case_of(cases, known.slip));
        check_row(table_row(known, all));
        for (const Finding& finding : all) {
            INFO(said(finding));
            CHECK((finding.named == 0 || finding.named == known.slip.mistake));
            CHECK(finding.equivalent.empty());
            if (finding.dump != "everything") continue;
            CHECK(finding.first == known.first.front());
            named_whole += finding.named == known.slip.mistake;
        }
        CHECK(named_whole == 2);  // in float and in double
    }
}

TEST_CASE("mistakes: every way to make 54 and 55 misses a recorded stage by far more than rounding", "[kit]") {
    const std::vector<TrainingCase> cases = both_cases();
    for (const int number : {54, 55})
        for (const Variant& variant : mistake_of(number).variants) {
            INFO(number << ", " << variant.how);
            CHECK(farthest(case_of(cases, {number, 0}), variant) >= 100);
        }
}

}  // namespace locus::test::test_mutations_rtd

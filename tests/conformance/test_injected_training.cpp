// The kit under test by backward passes: every mistake of gradients is made, must be caught and named, and must never
// be taken for another.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/conformance/diagnosis/all_mistakes.h"
#include "tests/conformance/recorded.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_injected_training {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

const std::vector<GradientRange>& ranges() {
    static const std::vector<GradientRange> all = gradient_ranges(test::kOracle);
    return all;
}

std::string say(const Finding& finding) {
    return finding.where + ", " + finding.dump + ", " + finding.first + " -> " +
           (finding.named ? std::to_string(finding.named) : std::string("no name"));
}

/// What is said of the first wrong stage, by one stage, by a whole pass and by pairs.
WrongStage first_judged(const Evidence& evidence) {
    const Comparison comparison = compare(evidence.reference, evidence.candidate);
    REQUIRE(comparison.first());
    return diagnose_all(evidence, comparison, *comparison.first(), {}).stages.front();
}

}  // namespace

TEST_CASE("gradient mutations: every injected mistake is caught, named, and never misnamed",
          "[kit][mutation][gradients]") {
    for (const InjectedMistake& known : injected_gradient_mistakes()) {
        std::vector<Finding> all;
        for (const Family family : known.families) {
            INFO("mistake " << known.injected.mistake << ", variant " << known.injected.variant << ": " << known.what);
            bool caught = false, named = false;
            for (const GradientRange& range : ranges()) {
                const bool is_of_model = known.injected.mistake == 53 || known.injected.mistake >= 136;
                if (range.content.family != family || is_of_model != (range.model != nullptr)) continue;
                for (const Finding& finding : try_gradient_mistake(known.injected, range)) {
                    INFO(say(finding));
                    all.push_back(finding);
                    const bool same =
                        std::count(finding.equivalent.begin(), finding.equivalent.end(), known.injected.mistake) > 0;
                    CHECK((finding.named == 0 || finding.named == known.injected.mistake || same));
                    if (finding.dump != "everything" || finding.first.empty()) continue;
                    caught = true;
                    named = named || finding.named == known.injected.mistake;
                    CHECK(std::any_of(known.first.begin(), known.first.end(),
                                      [&](const std::string& end) { return finding.first.ends_with("." + end); }));
                    // A port that reports everything in double is told the name, on every case that shows the mistake.
                    if (finding.unwritten)
                        CHECK(finding.named == 0);
                    else if (!finding.in_float)
                        CHECK(finding.named == known.injected.mistake);
                }
            }
            CHECK(caught);
            CHECK(named);
        }
        check_row(table_row(known, all));
    }
}

TEST_CASE("gradient mutations: a gradient that was never written gets no name, alone or with others",
          "[kit][gradients]") {
    for (const GradientRange& range : ranges()) {
        if (range.model) continue;
        const Trace right = run_backward<double>(range, {});
        for (const Stage& unwritten : right.stages()) {
            if (!unwritten.name.starts_with("grad.") || unwritten.name.ends_with(".context")) continue;
            for (const double last_digits : {0.0, 1e-17}) {  // of a sum that cancels
                Tensor<double> values(unwritten.shape());
                for (Index n = 0; n < values.size(); ++n) values[n] = last_digits * std::sin(static_cast<double>(n));
                Trace port;
                port.add<double>(unwritten.name, std::move(values));
                Evidence evidence{range.known, port, nullptr, range.segments};
                evidence.family = range.content.family;
                const WrongStage first = first_judged(evidence);
                INFO(range.content.id << " " << last_digits);
                CHECK(first.stage == unwritten.name);
                CHECK_FALSE(first.explained());
            }
        }
    }
}

TEST_CASE("gradient mutations: what a model's pass does not compute is not explained by a mistake in a pass",
          "[kit][gradients]") {
    // A right loss, which many mistakes leave as it is, beside gradients that no mistake explains.
    for (const GradientRange& range : ranges()) {
        if (range.content.id != "L3/grads_deberta_model") continue;
        Trace port;
        for (const Stage& stage : range.known.stages()) {
            Tensor<double> values = widened(stage);
            for (Index n = 0; stage.name.starts_with("grad.") && n < values.size(); ++n)
                values[n] *= 1 + 0.5 * std::sin(static_cast<double>(n));
            if (stage.name.starts_with("grad.") || stage.name == "mlm.loss" || stage.name == "emd.1.output")
                port.add<double>(stage.name, std::move(values));
        }
        const Evidence evidence{range.known, port, range.model, range.segments};
        const WrongStage first = first_judged(evidence);
        INFO(range.content.id);
        CHECK(port.find("emd.1.output"));
        CHECK(first.stage.starts_with("grad."));
        CHECK_FALSE(first.explained());
    }
}

TEST_CASE("gradient mutations: a right backward pass raises no alarm", "[kit][mutation][gradients]") {
    for (const GradientRange& range : ranges()) {
        const auto check = [&](const Trace& candidate, const char* precision) {
            const Comparison comparison = compare(range.content.reference, candidate);
            INFO(range.content.id << ", " << precision << ", "
                                  << (comparison.first() ? comparison.first()->name + ": " + comparison.first()->reason
                                                         : std::string("all right")));
            CHECK(comparison.pass());
            CHECK(comparison.missing.empty());
        };
        check(run_backward<double>(range, {}), "float64");
        check(run_backward<float>(range, {}), "float32");
    }
}

// Mistakes 54 and 55 made in ports of replaced-token detection and SiFT: each is caught, named, and never taken for
// another.

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
    for (const InjectedMistake& known : injected_training_mistakes()) {
        INFO("mistake " << known.injected.mistake << ", variant " << known.injected.variant << ": " << known.what);
        int named_whole = 0;
        const std::vector<Finding> all = try_training_mistake(known.injected, case_of(cases, known.injected));
        check_row(table_row(known, all));
        for (const Finding& finding : all) {
            INFO(said(finding));
            CHECK((finding.named == 0 || finding.named == known.injected.mistake));
            CHECK(finding.equivalent.empty());
            if (finding.dump != "everything") continue;
            CHECK(finding.first == known.first.front());
            named_whole += finding.named == known.injected.mistake;
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

}  // namespace locus::test::test_injected_training

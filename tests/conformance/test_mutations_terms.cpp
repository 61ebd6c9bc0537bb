// Single terms: a right port passes in every precision, and every slip that only they show is caught and named.
#include <catch2/catch.hpp>

#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/toy/mutation_table.h"
#include "tests/conformance/toy/term_injected_mistakes.h"

namespace locus::test::test_mutations_terms {

using namespace locus::conformance::toy;

namespace {

CaseReport judged(const std::string& id, const Trace& trace) {
    Dump dump;
    for (const Stage& stage : trace.stages()) {
        dump.trace.add(stage);
        dump.stored[stage.name] = stage.dtype();
    }
    return check_case(KitFixture::kit(), KitFixture::one(id), dump, {});
}

std::string said(const Finding& finding) {
    return finding.where + ", " + finding.dump + ": " + finding.first + " -> " + std::to_string(finding.named);
}

}  // namespace

TEST_CASE("term ports: right ports pass in float and in double", "[kit][toy]") {
    for (const std::string& id : term_case_ids()) {
        INFO(id);
        const KitCase& one = KitFixture::one(id);
        for (const Trace& trace : {run_term<float>(one, {}), run_term<double>(one, {})}) {
            const CaseReport report = judged(id, trace);
            INFO((report.comparison.first() ? report.comparison.first()->name : ""));
            CHECK(report.verdict == Verdict::pass);
            CHECK(report.comparison.missing.empty());
        }
    }
}

TEST_CASE("term ports: every slip is caught, named from a full dump, and never taken for another", "[kit][mutation]") {
    for (const TermSlip& known : term_slips()) {
        INFO("mistake " << known.slip.mistake << ", variant " << known.slip.variant << ": " << known.what);
        std::size_t caught = 0;
        const std::vector<Finding> all = try_term_slip(KitFixture::kit(), known);
        check_row(table_row(known.slip, known.what, "", all));
        for (const Finding& finding : all) {
            INFO(said(finding));
            const bool whole = finding.dump == "everything";
            caught += whole && !finding.first.empty();
            CHECK((finding.named == 0 || finding.named == known.slip.mistake));
            if (known.faint && finding.in_float) continue;
            CHECK_FALSE(finding.first.empty());
            if (!whole) continue;
            CHECK(std::any_of(known.first.begin(), known.first.end(),
                              [&](const std::string& end) { return finding.first.ends_with(end); }));
            CHECK(finding.named == known.slip.mistake);
        }
        CHECK(caught > 0);
    }
}

TEST_CASE("term ports: a term that nobody computes is refused by its name", "[kit][toy]") {
    CHECK(refusal([] { run_term<double>(KitFixture::one("L1/gelu_erf"), {}); }, Fault::usage).find("L1/gelu_erf") !=
          std::string::npos);
}

}  // namespace locus::test::test_mutations_terms

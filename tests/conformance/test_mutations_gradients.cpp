// The kit under test by backward passes: every mistake of gradients is made, must be caught and named, and must never
// be taken for another.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/conformance/toy/mutation_gradients.h"
#include "tests/conformance/toy/mutation_table.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_mutations_gradients {

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

}  // namespace

TEST_CASE("gradient mutations: every slip is caught, named, and never misnamed", "[kit][mutation][gradients]") {
    for (const KnownSlip& known : gradient_slips()) {
        std::vector<Finding> all;
        for (const Family family : known.families) {
            INFO("mistake " << known.slip.mistake << ", variant " << known.slip.variant << ": " << known.what);
            bool caught = false, named = false;
            for (const GradientRange& range : ranges()) {
                if (range.content.family != family || (known.slip.mistake == 53) != (range.model != nullptr)) continue;
                for (const Finding& finding : try_gradient_slip(known.slip, range)) {
                    INFO(say(finding));
                    all.push_back(finding);
                    CHECK((finding.named == 0 || finding.named == known.slip.mistake));
                    if (finding.dump != "everything" || finding.first.empty()) continue;
                    caught = true;
                    named = named || finding.named == known.slip.mistake;
                    CHECK(std::any_of(known.first.begin(), known.first.end(),
                                      [&](const std::string& end) { return finding.first.ends_with("." + end); }));
                    // Whoever reports everything in double is told the name, on every case that shows the mistake.
                    if (!finding.in_float) CHECK(finding.named == known.slip.mistake);
                }
            }
            CHECK(caught);
            CHECK(named);
        }
        check_row(table_row(known, all));
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

}  // namespace locus::test::test_mutations_gradients

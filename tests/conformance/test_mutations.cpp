// The kit itself under test: every mistake is made in a port, must be caught, must be named if the catalogue knows it,
// and must never be taken for another.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "core/conformance/diagnosis/equivalents.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/mutation_gradients.h"
#include "tests/conformance/toy/mutation_table.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/conformance/toy/recorded_training.h"
#include "tests/conformance/toy/term_injected_mistakes.h"

namespace locus::test::test_mutations {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

bool in_catalogue(int number) {
    return std::any_of(catalogue().begin(), catalogue().end(),
                       [&](const Mistake& mistake) { return mistake.number == number; });
}

bool ends_with_one_of(const std::string& name, const std::vector<std::string>& ends) {
    return std::any_of(ends.begin(), ends.end(),
                       [&](const std::string& end) { return name == end || name.ends_with("." + end); });
}

/// What became of a slip over all cases of the families that can make it.
struct Outcome {
    const KnownSlip* slip = nullptr;
    std::vector<Finding> all;
    const Finding* caught() const {
        return find([](const Finding& each) { return !each.first.empty(); });
    }
    const Finding* named() const {
        return find([&](const Finding& each) { return each.named == slip->slip.mistake; });
    }
    const Finding* equivalent() const {
        return find([&](const Finding& each) { return each.named && names(each.named, slip->slip); });
    }

private:
    template <class Wanted>
    const Finding* find(Wanted wanted) const {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const Finding& each) { return each.dump == "everything" && wanted(each); });
        return found == all.end() ? nullptr : &*found;
    }
};

std::string say(const Finding& verdict) {
    std::string text = verdict.where + ", " + verdict.dump + ", " + verdict.first + " -> " +
                       (verdict.named ? std::to_string(verdict.named) : std::string("no name"));
    for (const int number : verdict.equivalent) text += " = " + std::to_string(number);
    return text;
}

/// True if a table says when these two mistakes make the same numbers.
bool documented(int a, int b) {
    const auto& pairs = locus::conformance::equivalents();
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const auto& pair) { return pair.first == std::min(a, b) && pair.second == std::max(a, b); });
}

/// Several mistakes may leave the same numbers; then one of them is named and the others are said beside it.  With a
/// full dump only pairs that the table of equivalents explains may do so.
bool is_honest(const Finding& verdict, const Slip& slip) {
    if (verdict.named == 0 || names(verdict.named, slip)) return true;
    return std::find(verdict.equivalent.begin(), verdict.equivalent.end(), slip.mistake) != verdict.equivalent.end() &&
           (verdict.dump != "everything" || documented(verdict.named, slip.mistake));
}

/// Names of the cases that partial dumps are tried on: enough to see every formula, few enough to wait for.
const std::set<std::string> kPartial = {"ms_deberta_v3_emd", "ms_deberta_clamp", "hf_deberta_v1", "hf_roformer",
                                        "txl_basic",         "hf_xlnet_bi",      "hf_xlnet_mems"};

const std::vector<Range>& ranges(Family family) {
    static std::map<Family, std::vector<Range>> all;
    if (!all.count(family)) all[family] = ranges_of(family);
    return all[family];
}

/// What a slip comes to in the ports of one family.
std::vector<Finding> check_family(const KnownSlip& known, Family family) {
    Outcome outcome{&known, {}};
    for (const Range& range : ranges(family))
        for (const Finding& verdict : try_slip(known.slip, range, kPartial.count(range.name) > 0))
            outcome.all.push_back(verdict);
    CHECK(outcome.caught());
    for (const Finding& verdict : outcome.all) {
        INFO(say(verdict));
        if (verdict.dump == "everything" && !verdict.first.empty() && !(known.faint && verdict.in_float))
            CHECK(ends_with_one_of(verdict.first, known.first));
        CHECK(is_honest(verdict, known.slip));
    }
    const bool for_family =
        in_catalogue(known.slip.mistake) && std::count(mistake_of(known.slip.mistake).families.begin(),
                                                       mistake_of(known.slip.mistake).families.end(), family) > 0;
    if (for_family && known.no_name.empty()) CHECK(outcome.equivalent());
    return outcome.all;
}

/// Every port with a mistake of these numbers, and its row in core/conformance/README.md.
void check_mistakes(int first, int last) {
    for (const KnownSlip& known : slips()) {
        if (known.slip.mistake < first || known.slip.mistake > last) continue;
        INFO("mistake " << known.slip.mistake << ", variant " << known.slip.variant << ": " << known.what);
        std::vector<Finding> all;
        for (const Family family : known.families)
            for (Finding& finding : check_family(known, family)) all.push_back(std::move(finding));
        check_row(table_row(known, all));
    }
}

}  // namespace

TEST_CASE("mutations: every mistake of the catalogue is made", "[kit][mutation]") {
    std::set<int> made;
    for (const auto& list : {slips(), training_slips(), gradient_slips()})
        for (const KnownSlip& known : list) made.insert(known.slip.mistake);
    for (const TermSlip& known : term_slips()) made.insert(known.slip.mistake);
    for (int number = 1; number <= 83; ++number) {
        INFO(number);
        CHECK(made.count(number) == 1);
    }
}

// Several cases, so that they can run beside each other.
TEST_CASE("mutations: ports with mistakes 1 to 12", "[kit][mutation]") { check_mistakes(1, 12); }
TEST_CASE("mutations: ports with mistakes 13 to 26", "[kit][mutation]") { check_mistakes(13, 26); }
TEST_CASE("mutations: ports with mistakes 27 to 44", "[kit][mutation]") { check_mistakes(27, 44); }
TEST_CASE("mutations: ports with mistakes 45 to 83", "[kit][mutation]") { check_mistakes(45, 83); }

TEST_CASE("mutations: a right port raises no alarm, however it adds", "[kit][mutation]") {
    for (const Family family : {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet})
        for (const Range& range : ranges_of(family))
            for (const Summation order :
                 {Summation::forward, Summation::reversed, Summation::pairwise, Summation::fma}) {
                ToyOptions options;
                options.hugging_face = range.hugging_face;
                options.summation = order;
                INFO(range.name << ", summation " << static_cast<int>(order));
                const auto wrong = [&](const Trace& reference, const Trace& candidate) -> std::string {
                    const Comparison comparison = compare(reference, candidate);
                    return comparison.first() ? comparison.first()->name + ": " + comparison.first()->reason : "";
                };
                CHECK(wrong(range.recorded, run_toy<float>(range.model_folder, range.segments, options)) == "");
                CHECK(wrong(range.sharp, run_toy<double>(range.model_folder, range.segments, options)) == "");
            }
}

}  // namespace locus::test::test_mutations

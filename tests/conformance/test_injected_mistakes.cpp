// The kit itself under test: every mistake is made in a port, must be caught, must be named if the catalogue knows it,
// and must never be taken for another.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/conformance/diagnosis/diagnosis.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/toy/injected_mistakes.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/conformance/toy/term_injected_mistakes.h"
#include "tests/conformance/toy/toy_port.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_injected_mistakes {

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

/// What became of a mistake over all cases of the families that can make it.
struct Outcome {
    const InjectedMistake* injected = nullptr;
    std::vector<Finding> all;
    const Finding* caught() const {
        return find([](const Finding& each) { return !each.first.empty(); });
    }
    const Finding* named() const {
        return find([&](const Finding& each) { return each.named == injected->injected.mistake; });
    }
    const Finding* equivalent() const {
        return find([&](const Finding& each) { return each.named && names(each.named, injected->injected); });
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
bool is_honest(const Finding& verdict, const Injection& injected) {
    if (verdict.named == 0 || names(verdict.named, injected)) return true;
    return std::find(verdict.equivalent.begin(), verdict.equivalent.end(), injected.mistake) !=
               verdict.equivalent.end() &&
           (verdict.dump != "everything" || documented(verdict.named, injected.mistake));
}

/// Names of the cases that partial dumps are tried on: enough to see every formula, few enough to wait for.
const std::set<std::string> kPartial = {"ms_deberta_v3_emd", "ms_deberta_clamp", "hf_deberta_v1", "hf_roformer",
                                        "txl_basic",         "hf_xlnet_bi",      "hf_xlnet_mems"};

const std::vector<Range>& ranges(Family family) {
    static std::map<Family, std::vector<Range>> all;
    if (!all.count(family)) all[family] = ranges_of(family);
    return all[family];
}

/// What a mistake comes to in the ports of one family.
std::vector<Finding> check_family(const InjectedMistake& known, Family family) {
    Outcome outcome{&known, {}};
    for (const Range& range : ranges(family)) {
        if (range.is_long() && outcome.equivalent()) continue;  // a short text has shown it
        for (const Finding& verdict : try_mistake(known.injected, range, kPartial.count(range.name) > 0))
            outcome.all.push_back(verdict);
    }
    CHECK(outcome.caught());
    for (const Finding& verdict : outcome.all) {
        INFO(say(verdict));
        if (verdict.dump == "everything" && !verdict.first.empty() && !(known.faint && verdict.in_float))
            CHECK(ends_with_one_of(verdict.first, known.first));
        CHECK(is_honest(verdict, known.injected));
    }
    if (in_catalogue(known.injected.mistake) && known.no_name.empty()) CHECK(outcome.equivalent());
    return outcome.all;
}

/// Every port with a mistake of these numbers, and its row in core/conformance/README.md.
void check_mistakes(int first, int last) {
    for (const InjectedMistake& known : injected_mistakes()) {
        if (known.injected.mistake < first || known.injected.mistake > last) continue;
        INFO("mistake " << known.injected.mistake << ", variant " << known.injected.variant << ": " << known.what);
        std::vector<Finding> all;
        for (const Family family : known.families)
            for (Finding& finding : check_family(known, family)) all.push_back(std::move(finding));
        check_row(table_row(known, all));
    }
}

}  // namespace

TEST_CASE("mutations: every mistake of the catalogue is made", "[kit][mutation]") {
    std::set<int> made;
    for (const auto& list : {injected_mistakes(), injected_training_mistakes(), injected_gradient_mistakes()})
        for (const InjectedMistake& known : list) made.insert(known.injected.mistake);
    for (const InjectedTermMistake& known : injected_term_mistakes()) made.insert(known.injected.mistake);
    for (int number = 1; number <= 143; ++number) {
        INFO(number);
        CHECK(made.count(number) == 1);
    }
}

// Several cases, so that they can run beside each other.
TEST_CASE("mutations: ports with mistakes 1 to 12", "[kit][mutation]") { check_mistakes(1, 12); }
TEST_CASE("mutations: ports with mistakes 13 to 26", "[kit][mutation]") { check_mistakes(13, 26); }
TEST_CASE("mutations: ports with mistakes 27 to 44", "[kit][mutation]") { check_mistakes(27, 44); }
TEST_CASE("mutations: ports with mistakes 45 to 83", "[kit][mutation]") { check_mistakes(45, 83); }
TEST_CASE("mutations: ports with mistakes 84 to 107", "[kit][mutation]") { check_mistakes(84, 107); }
TEST_CASE("mutations: ports with mistakes 108 to 128", "[kit][mutation]") { check_mistakes(108, 128); }

// Most Transformer-XLs that are recorded have their norms behind, and show these mistakes there.
TEST_CASE("mutations: norms in front betray their eps, mean and parameters", "[kit][mutation]") {
    const auto& all = ranges(Family::transformer_xl);
    const auto in_front =
        std::find_if(all.begin(), all.end(), [](const Range& range) { return range.name == "txl_pre_lnorm"; });
    REQUIRE(in_front != all.end());
    Index seen = 0;
    for (const InjectedMistake& known : injected_mistakes()) {
        const int number = known.injected.mistake;
        if ((number != 40 && number != 98 && number != 122) ||
            known.injected.is(40, 7) ||  // a number of its own is found behind sums alone
            std::find(known.families.begin(), known.families.end(), Family::transformer_xl) == known.families.end())
            continue;
        for (const Finding& finding : try_mistake(known.injected, *in_front, false)) {
            if (known.faint && finding.in_float) continue;  // less than rounding
            INFO(known.what << ": " << say(finding));
            CHECK(finding.first.ends_with(".q"));
            CHECK(names(finding.named, known.injected));
            ++seen;
        }
    }
    CHECK(seen > 12);
}

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

// Single terms: a right port passes in every precision, and every mistake that only they show is caught and named.

namespace {

std::string said(const Finding& finding) {
    return finding.where + ", " + finding.dump + ": " + finding.first + " -> " + std::to_string(finding.named);
}

}  // namespace

TEST_CASE("term ports: right ports pass in float and in double", "[kit][toy]") {
    for (const std::string& id : term_case_ids()) {
        INFO(id);
        const KitCase& one = KitFixture::one(id);
        for (const Trace& trace : {run_term<float>(one, {}), run_term<double>(one, {})}) {
            const CaseReport report = check_one(id, trace);
            INFO((report.comparison.first() ? report.comparison.first()->name : ""));
            CHECK(report.verdict == Verdict::pass);
            CHECK(report.comparison.missing.empty());
        }
    }
}

TEST_CASE("term ports: every injected mistake is caught, named from a full dump, and never taken for another",
          "[kit][mutation]") {
    for (const InjectedTermMistake& known : injected_term_mistakes()) {
        INFO("mistake " << known.injected.mistake << ", variant " << known.injected.variant << ": " << known.what);
        std::size_t caught = 0;
        const std::vector<Finding> all = try_term_mistake(KitFixture::kit(), known);
        check_row(table_row(known.injected, known.what, "", all));
        for (const Finding& finding : all) {
            INFO(said(finding));
            const bool whole = finding.dump == "everything";
            caught += whole && !finding.first.empty();
            CHECK((finding.named == 0 || finding.named == known.injected.mistake));
            if ((known.faint && finding.in_float) || (known.ends_right && !whole)) continue;
            CHECK_FALSE(finding.first.empty());
            if (!whole) continue;
            CHECK(std::any_of(known.first.begin(), known.first.end(),
                              [&](const std::string& end) { return finding.first.ends_with(end); }));
            CHECK(finding.named == known.injected.mistake);
        }
        CHECK(caught > 0);
    }
}

TEST_CASE("term ports: a term that nobody computes is refused by its name", "[kit][toy]") {
    CHECK(refusal([] { run_term<double>(KitFixture::one("L1/gelu_erf"), {}); }, Fault::usage).find("L1/gelu_erf") !=
          std::string::npos);
}

// The table of core/conformance/README.md as a whole.  What stands in a row is checked where the mistake is made:
// here and in test_injected_training.cpp.

TEST_CASE("mutations: the table in core/conformance/README.md has a row for every way, and adds them up right",
          "[kit][mutation]") {
    std::multiset<std::string> expected, found;
    for (const auto& list : {injected_mistakes(), injected_training_mistakes(), injected_gradient_mistakes()})
        for (const InjectedMistake& known : list)
            expected.insert("| " + std::to_string(known.injected.mistake) + " | " + known.what + " |");
    for (const InjectedTermMistake& known : injected_term_mistakes())
        expected.insert("| " + std::to_string(known.injected.mistake) + " | " + known.what + " |");
    std::set<int> caught, named;
    int last = 0;
    for (const std::string& row : printed_table().rows) {
        std::vector<std::size_t> bars;
        for (std::size_t at = row.find(" | "); at != std::string::npos; at = row.find(" | ", at + 1))
            bars.push_back(at);
        INFO(row);
        REQUIRE(bars.size() == 4);  // between five cells
        found.insert(row.substr(0, bars[1] + 2));
        const int number = std::stoi(row.substr(2));
        CHECK(number >= last);
        last = number;
        if (row.find("`` |") == std::string::npos) caught.insert(number);
        if (row.ends_with("| yes |") || row.substr(bars[3]).starts_with(" | as ")) named.insert(number);
    }
    CHECK(found == expected);
    // That no name is wrong is what the checks below the rows are for.
    CHECK(printed_table().sum == std::to_string(expected.size()) + " ways to make them; " +
                                     std::to_string(caught.size()) + " of 143 mistakes caught, " +
                                     std::to_string(named.size()) + " named, 0 wrong names.");
}

// The toy ports, without any mistake, give what other people's code recorded: every family written independently.

namespace {

template <class Scalar>
Trace run_right(const Case& one) {
    ToyOptions options;
    options.hugging_face = one.dialect() == Dialect::hf;
    return run_toy<Scalar>(one.model.string(),
                           read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors"), options);
}

void check_port(const std::vector<Case>& cases) {
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            const Trace recorded = read_trace(one.folder / "trace.safetensors");
            const fs::path exact = one.folder / "trace_exact.safetensors";
            const double tolerance = one.json["tolerance"].get<double>();
            const Trace found = run_right<double>(one);
            check_all(recorded, found, tolerance);
            if (fs::exists(exact)) check_all(read_trace(exact), found, one.json["tolerance_exact"].get<double>());
            check_all_f32(recorded, run_right<float>(one), tolerance);
        }
}

}  // namespace

TEST_CASE("toy ports: DeBERTa equals every recorded case", "[kit][toy]") {
    const auto cases = cases_of({"hf_deberta_", "ms_deberta_"}, "tiny_v3_trained", "tiny-v3");
    REQUIRE(cases.size() == 21);
    check_port(cases);
}

TEST_CASE("toy ports: RoFormer equals every recorded case", "[kit][toy]") {
    const auto cases = cases_of({"hf_roformer"}, "tiny_roformer_trained", "tiny-roformer");
    REQUIRE(cases.size() == 7);
    check_port(cases);
}

TEST_CASE("toy ports: Transformer-XL equals every recorded case", "[kit][toy]") {
    const auto cases = cases_of({"txl_", "hf_txl_"}, "tiny_txl_trained", "tiny-txl");
    REQUIRE(cases.size() == 9);
    check_port(cases);
}

TEST_CASE("toy ports: XLNet equals every recorded case", "[kit][toy]") {
    const auto cases = cases_of({"hf_xlnet_"}, "tiny_xlnet_trained", "tiny-xlnet");
    REQUIRE(cases.size() == 10);
    check_port(cases);
}

}  // namespace locus::test::test_injected_mistakes

// The table of tests/conformance/README.md: mistake, who made it, what caught it, whether it was named.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/mutation_gradients.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/conformance/toy/recorded_training.h"
#include "tests/conformance/toy/term_slips.h"

using namespace locus;
using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

const std::string kPage = std::string(LOCUS_SOURCE_DIR) + "/tests/conformance/README.md";
constexpr const char *kBegin = "<!-- table -->\n", *kEnd = "<!-- end of table -->";

/// Rows by their mistake, and the sum below them.
class Table {
public:
    /// The finding that says most: the right name, a documented equivalent, that something is red.
    void add(const Slip& slip, const std::string& what, const std::string& no_name, const std::vector<Finding>& all) {
        const auto weight = [&](const Finding& each) {
            if (each.dump != "everything" || each.first.empty()) return 0;
            return each.named == slip.mistake ? 3 : each.named && names(each.named, slip) ? 2 : 1;
        };
        const auto best = std::max_element(all.begin(), all.end(),
                                           [&](const Finding& a, const Finding& b) { return weight(a) < weight(b); });
        REQUIRE(best != all.end());
        for (const Finding& each : all) {
            const auto& same = each.equivalent;  // named beside it, as making the same numbers
            const bool honest = std::find(same.begin(), same.end(), slip.mistake) != same.end();
            wrong_names_ += each.named && !names(each.named, slip) && !honest;
        }
        if (weight(*best) > 0) caught_.insert(slip.mistake);
        if (weight(*best) > 1) named_.insert(slip.mistake);
        const std::string name = weight(*best) == 3   ? "yes"
                                 : weight(*best) == 2 ? "as " + std::to_string(best->named)
                                 : no_name.empty()    ? "no"
                                                      : "no: " + no_name;
        rows_.emplace(slip.mistake, what + " | " + best->where + " | `" + best->first + "` | " + name);
    }

    std::string text() const {
        std::string text = "| mistake | made by | caught by | first wrong stage | named |\n|---|---|---|---|---|\n";
        for (const auto& [number, row] : rows_) text += "| " + std::to_string(number) + " | " + row + " |\n";
        return text + "\n" + std::to_string(rows_.size()) + " ways to make them; " + std::to_string(caught_.size()) +
               " of 83 mistakes caught, " + std::to_string(named_.size()) + " named, " + std::to_string(wrong_names_) +
               " wrong names.\n";
    }

private:
    std::multimap<int, std::string> rows_;
    std::set<int> caught_, named_;
    int wrong_names_ = 0;
};

std::string table() {
    Table table;
    std::map<Family, std::vector<Range>> ranges;
    for (const Family family : {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet})
        ranges[family] = ranges_of(family);
    const auto append = [](std::vector<Finding>& all, std::vector<Finding> more) {
        std::move(more.begin(), more.end(), std::back_inserter(all));
    };
    for (const KnownSlip& known : slips()) {
        std::vector<Finding> all;
        for (const Family family : known.families)
            for (const Range& range : ranges[family]) append(all, try_slip(known.slip, range, false));
        table.add(known.slip, known.what, known.no_name, all);
    }
    const std::vector<TrainingCase> training = {training_case("ms_rtd"), training_case("ms_sift")};
    for (const KnownSlip& known : training_slips())
        table.add(known.slip, known.what, known.no_name, try_training_slip(known.slip, case_of(training, known.slip)));
    const std::vector<GradientRange> backward = gradient_ranges(test::kOracle);
    for (const KnownSlip& known : gradient_slips()) {
        std::vector<Finding> all;
        for (const GradientRange& range : backward)
            if (std::count(known.families.begin(), known.families.end(), range.content.family) > 0)
                append(all, try_gradient_slip(known.slip, range));
        table.add(known.slip, known.what, known.no_name, all);
    }
    for (const TermSlip& known : term_slips())
        table.add(known.slip, known.what, "", try_term_slip(test::KitFixture::kit(), known));
    return table.text();
}

}  // namespace

TEST_CASE("mutations: the table in tests/conformance/README.md is what the ports show", "[kit][mutation]") {
    std::ifstream file(kPage);
    std::stringstream page;
    page << file.rdbuf();
    const std::string text = page.str();
    const std::size_t begin = text.find(kBegin), end = text.find(kEnd);
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    const std::string now = table();
    const std::string fresh = LOCUS_BINARY_DIR "/mistakes.md";  // to be copied into the page where it differs
    std::ofstream(fresh) << now;
    INFO(fresh << " holds the table as it is now");
    CHECK(text.substr(begin + std::string(kBegin).size(), end - begin - std::string(kBegin).size()) == now);
}

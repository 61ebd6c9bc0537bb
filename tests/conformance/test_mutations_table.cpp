// The table of core/conformance/README.md as a whole.  What stands in a row is checked where the mistake is made:
// test_mutations.cpp, test_mutations_gradients.cpp, test_mutations_rtd.cpp and test_mutations_terms.cpp.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/conformance/toy/injected_mistakes.h"
#include "tests/conformance/toy/mutation_table.h"
#include "tests/conformance/toy/term_injected_mistakes.h"

namespace locus::test::test_mutations_table {

using namespace locus::conformance::toy;

TEST_CASE("mutations: the table in core/conformance/README.md has a row for every way, and adds them up right",
          "[kit][mutation]") {
    std::multiset<std::string> expected, found;
    for (const auto& list : {slips(), training_slips(), gradient_slips()})
        for (const KnownSlip& known : list)
            expected.insert("| " + std::to_string(known.slip.mistake) + " | " + known.what + " |");
    for (const TermSlip& known : term_slips())
        expected.insert("| " + std::to_string(known.slip.mistake) + " | " + known.what + " |");
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
    // That no name is wrong is what the checks behind the rows are for.
    CHECK(printed_table().sum == std::to_string(expected.size()) + " ways to make them; " +
                                     std::to_string(caught.size()) + " of 83 mistakes caught, " +
                                     std::to_string(named.size()) + " named, 0 wrong names.");
}

}  // namespace locus::test::test_mutations_table

// Every entry of the catalogue makes numbers of its own, and a port that makes them is called by its number.
#include <catch2/catch.hpp>

#include "core/conformance/diagnosis/equivalents.h"
#include "tests/conformance/catalogue_ports.h"

namespace locus::test::test_catalogue {

using namespace locus::conformance;

namespace {

/// Entries whose ports are made here; others have tests of their own.
bool of_attention(const Mistake& mistake) { return mistake.number <= 37; }

/// What cannot be made from a recorded case alone: test_catalogue_more.cpp makes it.
bool made_elsewhere(int number, const std::string& how) {
    return number == 14 || number == 15 || number == 34 || how.find("no file holds") != std::string::npos ||
           how.find("one constant") != std::string::npos || how.find("dense layer") != std::string::npos;
}

/// Everything, the index alone, and the one late stage that the variant reaches.
std::vector<Stems> reports_of(const Variant& variant) {
    const Trace silent;
    const Evidence nothing{silent, silent, nullptr, {}};
    const Replay replay(nothing, "layer.0.", variant.formulas);
    const std::string late = replay.touches("scores") ? "scores" : replay.touches("probs") ? "probs" : "context";
    std::vector<Stems> reports = {every_stem(), {late}};
    if (replay.touches("/relative.index")) reports.push_back({"/relative.index"});
    return reports;
}

}  // namespace

TEST_CASE("catalogue: numbers are unique and rise, and every entry says all it has to", "[kit]") {
    int before = 0;
    for (const Mistake& mistake : catalogue()) {
        INFO(mistake.number);
        CHECK(mistake.number > before);
        before = mistake.number;
        CHECK_FALSE(mistake.name.empty());
        CHECK_FALSE(mistake.symptom.empty());
        CHECK_FALSE(mistake.betrays.empty());
        CHECK(mistake.lesson.size() == 2);
        CHECK_FALSE(mistake.families.empty());
        CHECK_FALSE(mistake.stems.empty());
        CHECK_FALSE(mistake.variants.empty());
        for (const Variant& variant : mistake.variants) CHECK((mistake.variants.size() == 1 || !variant.how.empty()));
    }
    for (int number = 1; number <= 37; ++number) CHECK(mistake_of(number).number == number);
}

TEST_CASE("catalogue: a port with a mistake is named by its number, or not at all", "[kit]") {
    std::set<std::pair<int, int>> ties;
    for (const Mistake& mistake : catalogue()) {
        if (!of_attention(mistake)) continue;
        bool alone = false;  // named without a tie, from everything and from one late stage
        for (const Variant& variant : mistake.variants) {
            if (made_elsewhere(mistake.number, variant.how)) continue;
            double largest = 0;
            bool named = false;
            for (const Stems& stems : reports_of(variant))
                for (const RecordedPort& one : recorded_cases()) {
                    const auto port = port_with(one, variant, stems);
                    if (!port) continue;
                    const PortOutcome outcome = outcome_of(one, *port);
                    if (!outcome.seen) continue;
                    INFO(mistake.number << " " << variant.how << " in " << one.name << " at " << outcome.stage
                                        << ", named " << outcome.named.value_or(0) << ": " << outcome.best);
                    CHECK((!outcome.named || outcome.is(mistake.number) || outcome.ties_with(mistake.number)));
                    largest = std::max(largest, std::isnan(outcome.size) ? 1e9 : outcome.size);
                    named = named || outcome.is(mistake.number) || outcome.ties_with(mistake.number);
                    alone = alone || (outcome.is(mistake.number) && outcome.same.empty());
                    for (const int same : outcome.same)
                        if (outcome.named) ties.insert(std::minmax(*outcome.named, same));
                }
            INFO(mistake.number << " " << variant.how);
            CHECK(largest > 100);
            CHECK(named);
        }
        INFO(mistake.number);
        CHECK((alone || made_elsewhere(mistake.number, "")));
    }
    // What ties on these cases is what equivalents.cpp says, and nothing of it is made up.
    std::set<std::pair<int, int>> documented;
    for (const Equivalent& pair : equivalents())
        if (pair.second <= 37) documented.insert({pair.first, pair.second});
    for (const auto& [first, second] : ties) {
        INFO(first << " and " << second << " tie, but equivalents.cpp is silent");
        CHECK(documented.contains({first, second}));
    }
    for (const auto& [first, second] : documented) {
        INFO(first << " and " << second << " never tie");
        CHECK(ties.contains({first, second}));
    }
}

}  // namespace locus::test::test_catalogue

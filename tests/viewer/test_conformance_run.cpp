// The Conformance page shows what the kit's own program says, of a rehearsed port and of dumps.
#include <catch2/catch.hpp>

#include "tests/files.h"
#include "viewer/data/conformance_run.h"

namespace locus::test::test_conformance_run {

TEST_CASE("conformance: a rehearsed mistake is judged, named and its dumps can be looked at", "[view][conformance]") {
    ConformanceRuns runs;
    const auto answer = runs.answer({"", "", 1, "", 0});
    REQUIRE(answer);
    REQUIRE(answer->trouble.empty());
    const CheckReport& report = *answer->report;
    CHECK_FALSE(report.pass);
    const ReportedCase& first = report.cases[report.opening()];
    CHECK(first.first == "layer.0.p2c");
    REQUIRE(first.mistake);
    CHECK(first.mistake->number == 1);
    CHECK_FALSE(first.family.empty());
    REQUIRE(first.has_dumps());
    CHECK(fs::exists(first.candidate));
    CHECK(answer->command == "./locus kit rehearse my-kit/ dumps/ --mistake 1 && ./locus kit check my-kit/ dumps/");

    SECTION("dumps of one's own: those of the rehearsal, without it") {
        const auto again = runs.answer({"", (answer->kept->path() / "dumps").string(), 1, "", 0});
        REQUIRE(again);
        CHECK(again->trouble.empty());
        REQUIRE(again->report);
        CHECK(again->report->cases.size() == report.cases.size());
        CHECK(again->report->opening() == report.opening());
        CHECK(again->command == "./locus kit check my-kit/ " + (answer->kept->path() / "dumps").string());
        // Mistake 1 is what the paper prints: in its dialect that case is right.
        const auto paper = runs.answer({"", (answer->kept->path() / "dumps").string(), 1, "paper", 0});
        REQUIRE(paper->report);
        CHECK(paper->command.ends_with(" --dialect paper"));
        CHECK(paper->report->cases[report.opening()].verdict == "pass");
    }
    SECTION("a report that was written before") {
        const auto read = runs.answer({report.file.string(), "", 1, "", 0});
        REQUIRE(read->report);
        CHECK(read->command == "./locus view --report " + report.file.string());
        CHECK(read->report->opening() == report.opening());
    }
}

TEST_CASE("conformance: what cannot be judged is said in one sentence", "[view][conformance]") {
    ConformanceRuns runs;
    const TemporaryFolder empty;
    const auto trouble = [&](const ConformanceQuery& query) {
        const auto answer = runs.answer(query);
        REQUIRE(answer);
        CHECK_FALSE(answer->report);
        return answer->trouble;
    };
    CHECK_THAT(trouble({"", empty.path().string(), 1, "", 0}), Catch::Contains("holds no dump of any case"));
    CHECK_THAT(trouble({"", "/nowhere/at/all", 1, "", 0}), Catch::Contains("/nowhere/at/all"));
    CHECK_THAT(trouble({"/nowhere.json", "", 1, "", 0}), Catch::Contains("/nowhere.json"));
    CHECK_THAT(trouble({"", "", 4711, "", 0}), Catch::Contains("4711"));
    CHECK_FALSE(runs.answer({"", "", 2, "", 0}, [] { return true; }));
}

}  // namespace locus::test::test_conformance_run

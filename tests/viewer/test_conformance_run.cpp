// The Conformance page shows what locus kit check says, of a rehearsed port and of dumps.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/files.h"
#include "viewer/data/conformance_run.h"

namespace locus::test::test_conformance_run {

namespace {

/// Equal, or neither a number.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_same(const ReportedCase& a, const ReportedCase& b) {
    INFO(a.id);
    CHECK(a.id == b.id);
    CHECK(a.family == b.family);
    CHECK(a.verdict == b.verdict);
    CHECK(a.refusal == b.refusal);
    CHECK(a.waiver == b.waiver);
    CHECK(a.reference == b.reference);
    CHECK(a.candidate == b.candidate);
    CHECK(a.first == b.first);
    CHECK(a.pattern == b.pattern);
    CHECK(a.would_narrow == b.would_narrow);
    CHECK(a.tokens == b.tokens);
    REQUIRE(a.stages.size() == b.stages.size());
    for (std::size_t n = 0; n < a.stages.size(); ++n) {
        const ReportedStage &x = a.stages[n], &y = b.stages[n];
        INFO(x.name);
        CHECK(x.name == y.name);
        CHECK(x.state == y.state);
        CHECK(x.reason == y.reason);
        CHECK(x.index == y.index);
        CHECK((same(x.expected, y.expected) && same(x.found, y.found) && same(x.allowed, y.allowed)));
        CHECK((x.wrong == y.wrong && x.size == y.size));
    }
    REQUIRE(a.mistake.has_value() == b.mistake.has_value());
    if (!a.mistake) return;
    CHECK(a.mistake->number == b.mistake->number);
    CHECK(a.mistake->name == b.mistake->name);
    CHECK(a.mistake->how == b.mistake->how);
    CHECK(a.mistake->betrays == b.mistake->betrays);
    CHECK(a.mistake->lesson == b.mistake->lesson);
    CHECK(same(a.mistake->residual, b.mistake->residual));
    CHECK(a.mistake->runner_up == b.mistake->runner_up);
    CHECK(same(a.mistake->runner_up_residual, b.mistake->runner_up_residual));
    CHECK(a.mistake->runner_up_is_bound == b.mistake->runner_up_is_bound);
}

/// A report in memory and the same, written and read.
void check_same(const CheckReport& a, const CheckReport& b) {
    CHECK(a.file == b.file);
    CHECK(a.pass == b.pass);
    CHECK(a.errors == b.errors);
    REQUIRE(a.cases.size() == b.cases.size());
    for (std::size_t n = 0; n < a.cases.size(); ++n) check_same(a.cases[n], b.cases[n]);
}

}  // namespace

TEST_CASE("conformance: a rehearsed mistake is judged, named and its dumps can be looked at", "[view][conformance]") {
    ConformanceRuns runs;
    const auto answer = runs.answer({"", "", 1, "", 0});
    REQUIRE(answer);
    REQUIRE(answer->error.empty());
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
        CHECK(again->error.empty());
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
    SECTION("what is shown is what its report file says, also where a dump cannot be read or is strange") {
        check_same(report, read_check_report(report.file));
        const TemporaryFolder spoiled;
        fs::copy(answer->kept->path() / "dumps", spoiled.path(), fs::copy_options::recursive);
        const fs::path broken = spoiled / (report.cases.front().id + ".safetensors");
        REQUIRE(fs::exists(broken));
        write_bytes(broken, "no dump");
        write_bytes(spoiled / "stranger.safetensors", "whatever");
        const auto again = runs.answer({"", spoiled.path().string(), 1, "", 0});
        REQUIRE(again->report);
        CHECK_FALSE(again->report->cases.front().refusal.empty());
        REQUIRE(again->report->errors.size() == 1);
        CHECK_THAT(again->report->errors.front(), Catch::Contains("stranger"));
        check_same(*again->report, read_check_report(again->report->file));
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
        return answer->error;
    };
    CHECK_THAT(trouble({"", empty.path().string(), 1, "", 0}), Catch::Contains("holds no dump of any case"));
    CHECK_THAT(trouble({"", "/nowhere/at/all", 1, "", 0}), Catch::Contains("/nowhere/at/all"));
    CHECK_THAT(trouble({"/nowhere.json", "", 1, "", 0}), Catch::Contains("/nowhere.json"));
    CHECK_THAT(trouble({"", "", 4711, "", 0}), Catch::Contains("4711"));
    CHECK_THAT(trouble({"", empty.path().string(), 1, "klingon", 0}), Catch::Contains("klingon"));
    CHECK_FALSE(runs.answer({"", "", 2, "", 0}, [] { return true; }));
}

TEST_CASE("conformance: a check that nobody wants any more ends at the next case, and the next one answers",
          "[view][conformance]") {
    ConformanceRuns runs;
    const auto cancelled_after = [&](int patience) {
        int asked = 0;
        const auto answer = runs.answer({"", "", 1, "", 0}, [&] { return ++asked >= patience; });
        CHECK(asked == patience);  // never asked again once it said yes
        return answer == nullptr;
    };
    for (const int patience : {1, 5, 60, 200, 1000}) CHECK(cancelled_after(patience));
    const auto answer = runs.answer({"", "", 1, "", 0});
    REQUIRE(answer);
    CHECK(answer->error.empty());
}

}  // namespace locus::test::test_conformance_run

// Every printer and every number of a report speak of the same stage: the first that fails while what it is made of
// passes, waivers aside.
#include <catch2/catch.hpp>

#include "core/conformance/kit/kit_first_divergence.h"
#include "core/conformance/report/report_printers.h"
#include "tests/conformance/kit_fixture.h"

namespace locus::test::test_report_first {

namespace {

const std::string kId = "L2/deberta_clamp", kWaived = "layer.0.c2c", kWrong = "layer.0.v";

/// A layer in which these stages are off, each by another amount.
Dump dump_with(const std::vector<std::string>& wrong) {
    Dump dump;
    const Trace reference = reference_of(KitFixture::one(kId));
    for (const Stage& stage : reference.stages()) {
        const auto place = std::find(wrong.begin(), wrong.end(), stage.name);
        Tensor<double> values = widened(stage);
        if (place != wrong.end()) values[1] += 1 + static_cast<double>(place - wrong.begin());
        dump.trace.add(named(stage.name, values));
        dump.stored[stage.name] = "F64";
    }
    return dump;
}

Report report_of(const Dump& dump, const std::vector<std::string>& waived) {
    CheckOptions options;
    options.today = "2026-11-21";
    for (const std::string& stage : waived) options.waivers.push_back({kId, stage, "the chip cannot", "2027-01-31"});
    return check_kit(
               KitFixture::kit(),
               [&](const KitCase& one) { return one.id == kId ? std::optional(dump) : std::nullopt; }, options)
        .report;
}

const CaseReport& reported(const Report& report) {
    return *std::find_if(report.cases.begin(), report.cases.end(), [](const CaseReport& one) { return one.id == kId; });
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What each printer calls the first wrong stage of the case.
void check_printers(const Report& report, const std::string& stage, const std::string& other) {
    REQUIRE(reported(report).first);
    CHECK(reported(report).first->name == stage);
    REQUIRE(reported(report).wrong());
    CHECK(reported(report).wrong()->name == stage);
    const nlohmann::json json = nlohmann::json::parse(report_json(report));
    for (const auto& one : json["cases"])
        if (one["id"] == kId) CHECK(one["first"]["stage"] == stage);
    CHECK(holds(report_text(report, false), "first wrong stage: " + stage + ","));
    CHECK_FALSE(holds(report_text(report, false), "first wrong stage: " + other));
    CHECK(holds(report_junit(report), "<failure message=\"" + stage + ":"));
    const std::string page = report_html(report);
    CHECK(holds(page, "first wrong stage: " + stage + ","));
    // The pictures frame the worst cell of the stage that they show.
    const std::string frame = "<rect class=\"worst\"";
    const std::string title = page.substr(page.find("<title>[", page.find(frame)));
    CHECK(title.starts_with("<title>[0, 1] "));
}

}  // namespace

TEST_CASE("report: a waived stage that comes first is not shown in place of the one that fails", "[kit]") {
    const Report report = report_of(dump_with({kWaived, kWrong}), {kWaived});
    CHECK(reported(report).verdict == Verdict::fail);
    // Both fail, and the waived one stands before the other in the trace if `v` is the one that is waived.
    check_printers(report, kWrong, kWaived);
    const Report other = report_of(dump_with({kWaived, kWrong}), {kWrong});
    CHECK(reported(other).comparison.first()->name == kWrong);
    check_printers(other, kWaived, kWrong);
}

TEST_CASE("report: what stands later in the list is first if the earlier one is made of it", "[kit]") {
    // A list that no pass would leave: the sum before its terms.
    Comparison comparison;
    for (const char* name : {"layer.0.scores", "layer.0.c2c", "layer.0.q", "layer.0.k"}) {
        comparison.stages.emplace_back();
        comparison.stages.back().name = name;
        comparison.stages.back().pass = std::string(name) == "layer.0.k";
        comparison.stages.back().reason = "1 of 9 values outside";
    }
    Trace reference;
    for (const StageVerdict& stage : comparison.stages) reference.add(named(stage.name, Tensor<double>({1, 1, 2, 2})));
    CHECK(first_wrong(case_of(reference), comparison) == std::vector<std::string>{"layer.0.q"});

    CaseReport one;
    one.verdict = Verdict::fail;
    one.comparison = comparison;
    CHECK(one.wrong() == nullptr);  // nobody said which one
    one.first = ShownStage{"layer.0.q", Tensor<double>({1, 1, 2, 2}), Tensor<double>({1, 1, 2, 2}), {}, {}};
    REQUIRE(one.wrong());
    CHECK(one.wrong()->name == "layer.0.q");
    CHECK(case_json(one)["first"]["stage"] == "layer.0.q");
    CHECK(holds(divergence_text(one), "first wrong stage: layer.0.q,"));
}

TEST_CASE("report: what passed, what failed, what is waived and what nobody reported are counted apart", "[kit]") {
    const std::size_t all = KitFixture::kit().cases.size();
    const auto said = [&](const Report& report) {
        const std::string text = report_text(report, false);
        return text.substr(text.rfind('\n', text.size() - 2) + 1);
    };
    const std::string of = ": of " + std::to_string(all) + " cases ",
                      rest = ", " + std::to_string(all - 1) + " not reported\n";
    CHECK(said(report_of(dump_with({}), {})) == "pass" + of + "1 passed, 0 failed" + rest);
    CHECK(said(report_of(dump_with({kWrong}), {})) == "FAIL" + of + "0 passed, 1 failed" + rest);
    const Report waived = report_of(dump_with({kWrong}), {kWrong});
    CHECK(said(waived) == "pass" + of + "0 passed, 0 failed, 1 waived" + rest);
    const nlohmann::json counts = nlohmann::json::parse(report_json(waived))["counts"];
    CHECK(counts == nlohmann::json({{"passed", 0}, {"failed", 0}, {"waived", 1}, {"not_reported", all - 1}}));
    CHECK(holds(report_html(waived), "<p>0 passed, 0 failed, 1 waived" + rest.substr(0, rest.size() - 1) + "</p>"));
}

}  // namespace locus::test::test_report_first

// A report on disk, as the Compare page reads it.
#include "viewer/data/check_report.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "tests/run_program.h"
#include "viewer/state/compare_state.h"

namespace locus::test::test_check_report {

namespace {

using Json = nlohmann::json;

/// As the programs write it: one case that passes, one that fails, one without dumps.
Json kit_report() {
    const Json passing = {{"stage", "layer.0.q"}, {"reason", ""}, {"index", {0, 0, 1, 2}}, {"expected", 1.5},
                          {"found", 1.5},         {"pass", true}, {"max_difference", 0},   {"allowed", 1e-6},
                          {"wrong", 0},           {"size", 48}};
    const Json failing = {{"stage", "layer.0.p2c"},
                          {"reason", "252 of 294 values outside"},
                          {"index", {0, 2, 3, 5}},
                          {"expected", -8.82},
                          {"found", "nan"},
                          {"pass", false},
                          {"allowed", 5e-4},
                          {"wrong", 252},
                          {"size", 294}};
    Json second = passing;
    second["stage"] = "layer.0.scores";
    second["expected"] = "-inf";
    second["found"] = "inf";
    const Json good = {{"id", "L1/c2p"},          {"verdict", "pass"},    {"pass", true},
                       {"first", nullptr},        {"diagnosis", nullptr}, {"stages", {passing, second}},
                       {"missing", Json::array()}};
    Json bad = {{"id", "L3/v3"},
                {"verdict", "fail"},
                {"pass", false},
                {"first", {{"stage", "layer.0.p2c"}}},
                {"family", "deberta"},
                {"refusal", "one dump is damaged"},
                {"waiver", "known since May"},
                {"would_narrow", {"layer.0.k_r", "layer.0.q_r"}},
                {"diagnosis",
                 {{"mistake", 1},
                  {"name", "p2c reads row delta(j,i)"},
                  {"residual", 3e-7},
                  {"runner_up", 5},
                  {"runner_up_residual", 0.4},
                  {"runner_up_is_bound", true},
                  {"betrays", "p2c[i,j] == k_j . q_r[delta(j,i)]"},
                  {"how", "swap the two indices"},
                  {"lesson", "09"}}},
                {"pattern", "the diagonal is right everywhere"},
                {"stages", {passing, failing}},
                {"missing", {"layer.0.k", "embeddings.output"}},
                {"tokens", {"4", "8", "15", "16", "23", "42", "108"}},
                {"reference_file", "kit/reference.safetensors"},
                {"candidate_file", "/dumps/v3.safetensors"}};
    return {{"format", "locus-report"},
            {"version", "1.0"},
            {"pass", false},
            {"errors", {"toy.safetensors: cut off"}},
            {"cases", {good, bad}}};
}

CheckReport read(const TemporaryFolder& folder, const Json& json) {
    write_file(folder / "report.json", json.dump());
    return read_check_report(folder / "report.json");
}

}  // namespace

TEST_CASE("check report: cases, stages in the order of a model, and what was not reported", "[viewer][compare]") {
    const TemporaryFolder folder;
    const CheckReport report = read(folder, kit_report());
    REQUIRE(report.cases.size() == 2);
    CHECK_FALSE(report.pass);
    CHECK(report.opening() == 1);
    const ReportedCase& one = report.cases[1];
    std::vector<std::string> names;
    for (const ReportedStage& stage : one.stages) names.push_back(stage.name);
    CHECK(names == std::vector<std::string>{"embeddings.output", "layer.0.q", "layer.0.k", "layer.0.p2c"});
    CHECK(one.find("layer.0.k")->state == StageState::not_reported);
    CHECK(one.count(StageState::fail) == 1);
    const ReportedStage& first = *one.find(one.first);
    CHECK(first.wrong == 252);
    CHECK(first.size == 294);
    CHECK(first.allowed == 5e-4);
    CHECK(first.reason == "252 of 294 values outside");
    CHECK(report.errors == std::vector<std::string>{"toy.safetensors: cut off"});
    CHECK(one.pattern == "the diagonal is right everywhere");
    CHECK(one.family == "deberta");
    CHECK(one.refusal == "one dump is damaged");
    CHECK(one.waiver == "known since May");
    CHECK(one.would_narrow == std::vector<std::string>{"layer.0.k_r", "layer.0.q_r"});
    const ReportedStage& infinite = *report.cases[0].find("layer.0.scores");
    CHECK(infinite.expected == -HUGE_VAL);
    CHECK(infinite.found == HUGE_VAL);
    CHECK(first.index == std::vector<Index>{0, 2, 3, 5});
    CHECK(first.expected == -8.82);
    CHECK(std::isnan(first.found));
    REQUIRE(one.mistake);
    CHECK(one.mistake->number == 1);
    CHECK(one.mistake->runner_up == 5);
    CHECK(one.mistake->runner_up_is_bound);
    CHECK(one.mistake->name == "p2c reads row delta(j,i)");
    CHECK(one.mistake->how == "swap the two indices");
    CHECK(one.mistake->lesson == "09");
    CHECK(one.mistake->residual == 3e-7);
    CHECK(one.mistake->runner_up_residual == 0.4);
    CHECK(one.mistake->betrays == "p2c[i,j] == k_j . q_r[delta(j,i)]");
    CHECK(one.tokens.size() == 7);
    CHECK(one.reference == folder / "kit/reference.safetensors");
    CHECK(one.candidate == "/dumps/v3.safetensors");
}

TEST_CASE("check report: one pair of files is one case", "[viewer][compare]") {
    const TemporaryFolder folder;
    Json pair = kit_report()["cases"][1];
    pair.erase("id");
    pair.erase("verdict");
    const CheckReport report = read(folder, pair);
    REQUIRE(report.cases.size() == 1);
    CHECK(report.cases[0].verdict == "fail");
    pair["pass"] = true;
    CHECK(read(folder, pair).cases[0].verdict == "pass");
    CHECK(report.cases[0].first == "layer.0.p2c");
}

TEST_CASE("check report: every stage that is wrong by itself, once each", "[viewer][compare]") {
    const TemporaryFolder folder;
    Json json = kit_report();
    CHECK(read(folder, json).cases[1].by_themselves.empty());  // of a program that named one alone
    const auto found = [](const char* stage, Json number, Json name, Json first_at) {
        return Json{{"stage", stage}, {"mistake", number}, {"name", name}, {"first_at", first_at}};
    };
    json["cases"][1]["diagnoses"] = {found("layer.0.p2c", 1, "p2c reads row delta(j,i)", nullptr),
                                     found("layer.0.ffn_act", nullptr, nullptr, nullptr),
                                     found("layer.1.p2c", 1, "p2c reads row delta(j,i)", "layer.0.p2c")};
    json["cases"][1]["diagnoses"][1]["pattern"] = "every value is 0.5 times what it should be";
    json["cases"][1]["right_once_repaired"] = "no";
    const ReportedCase one = read(folder, json).cases[1];
    REQUIRE(one.by_themselves.size() == 2);
    CHECK(one.by_themselves[0].stage == "layer.0.p2c");
    CHECK(one.by_themselves[0].mistake == 1);
    CHECK(one.by_themselves[0].name == "p2c reads row delta(j,i)");
    CHECK(one.by_themselves[1].stage == "layer.0.ffn_act");
    CHECK(one.by_themselves[1].mistake == 0);
    CHECK(one.by_themselves[1].pattern == "every value is 0.5 times what it should be");
    CHECK(one.by_themselves[1].in_words() == "no mistake of the catalogue");
    CHECK(one.by_themselves[0].in_words() == "mistake 1");
    CHECK(one.right_once_repaired == "no");
    CHECK(one.saved_first().empty());
    // Computed rightly, and saved otherwise.
    json["cases"][1]["diagnoses"][0]["saved"] = "the port computes it rightly";
    json["cases"][1]["diagnoses"][1]["saved"] = "the right numbers with other axes";
    const ReportedCase saved = read(folder, json).cases[1];
    CHECK(saved.saved_first() == "the port computes it rightly");
    CHECK(saved.by_themselves[1].in_words() == "other numbers saved");
    json["cases"][1]["diagnoses"][0].erase("stage");
    CHECK_THROWS_WITH(read(folder, json), Catch::Contains("report.json") && Catch::Contains("stage"));
}

TEST_CASE("check report: the page opens on the first red stage, its dumps as A and B", "[viewer][compare]") {
    const TemporaryFolder folder;
    CompareState state;
    state.open(std::make_shared<const CheckReport>(read(folder, kit_report())));
    CHECK(state.shown_case == 1);
    CHECK(state.stage == "layer.0.p2c");
    CHECK(state.request() ==
          CompareRequest{
              {(folder / "kit/reference.safetensors").string()}, {"/dumps/v3.safetensors"}, "layer.0.p2c", true});
    // A case without dumps asks the worker for nothing, and says its last stage.
    state.open_case(0);
    CHECK(state.stage == "layer.0.scores");
    CHECK(state.request().stage.empty());
    state.open_case(9);  // of a longer report
    CHECK(state.shown_case == 1);
    state.sample = 3;
    state.open_stage("layer.0.q");
    CHECK(state.sample == 0);
    state.make_mistake("7");
    CHECK_FALSE(state.report);
    CHECK(state.a.file.empty());
    state.b.layer = 2;
    state.make_mistake("8");
    CHECK(state.b.layer == -1);  // of a stage that it need not have
}

TEST_CASE("check report: it opens on what fails, then on what can be shown", "[viewer][compare]") {
    const auto opening = [](const std::vector<std::pair<const char*, bool>>& cases) {
        CheckReport report;
        for (const auto& [verdict, dumps] : cases) {
            ReportedCase& one = report.cases.emplace_back();
            one.verdict = verdict;
            if (dumps) one.reference = one.candidate = "there";
        }
        return report.opening();
    };
    CHECK(opening({{"pass", true}, {"fail", false}, {"fail", true}}) == 2);
    CHECK(opening({{"pass", true}, {"fail", false}, {"pass", true}}) == 1);
    CHECK(opening({{"pass", false}, {"pass", true}, {"waived", true}}) == 1);
    CHECK(opening({{"pass", false}, {"not reported", false}}) == 0);
}

TEST_CASE("check report: a dump that was written anew is not the one that was judged", "[viewer][compare]") {
    const auto stage_of = [](double at_1_0) {
        Stage stage;
        stage.name = "layer.0.context";
        stage.axes = {"B", "T", "D"};
        stage.values = Tensor<double>({1, 2, 2}, {1, 2, at_1_0, 4});
        return stage;
    };
    ReportedStage reported;
    reported.name = "layer.0.context";
    reported.state = StageState::fail;
    reported.index = {0, 1, 0};
    reported.expected = 3;
    reported.found = 3.5;
    CHECK(is_judged_by(reported, stage_of(3), stage_of(3.5)));
    CHECK_FALSE(is_judged_by(reported, stage_of(3), stage_of(3)));
    CHECK_FALSE(is_judged_by(reported, stage_of(3.5), stage_of(3.5)));
    reported.found = std::nan("");
    CHECK(is_judged_by(reported, stage_of(3), stage_of(std::nan(""))));
    CHECK_FALSE(is_judged_by(reported, stage_of(3), stage_of(3.5)));
    reported.index = {0, 2, 0};  // of another shape
    CHECK_FALSE(is_judged_by(reported, stage_of(3), stage_of(std::nan(""))));
    reported.index.clear();  // nothing was compared
    CHECK(is_judged_by(reported, stage_of(3), stage_of(1)));
}

TEST_CASE("check report: what is no report is refused with the file and the field", "[viewer][compare]") {
    const TemporaryFolder folder;
    const auto refusal = [&](const Json& json, const std::string& field) {
        try {
            read(folder, json);
            FAIL("accepted without " << field);
        } catch (const Error& error) {
            const std::string sentence = error.what();
            INFO(sentence);
            CHECK(error.fault() == Fault::unreadable);
            CHECK(sentence.find("report.json") != std::string::npos);
            CHECK(sentence.find(field) != std::string::npos);
            CHECK(sentence.find('\n') == std::string::npos);
        }
    };
    refusal({{"hello", 1}}, "pass");
    refusal(Json::array({1, 2}), "object");
    refusal({{"pass", true}}, "stages");
    Json report = kit_report();
    report["format"] = "locus-kit";
    refusal(report, "format");
    report = kit_report();
    report["cases"] = Json::array();
    refusal(report, "cases");
    report = kit_report();
    report["cases"][1]["stages"][0].erase("stage");
    refusal(report, "cases[1].stages[0].stage");
    report = kit_report();
    report["cases"][1]["stages"][1]["index"] = "far away";
    refusal(report, "cases[1].stages[1].index");
    report["cases"][1]["stages"][1]["index"] = {{"row", 3}};
    refusal(report, "cases[1].stages[1].index");
    report = kit_report();
    report["cases"][1]["tokens"] = {{"first", "a"}};
    refusal(report, "cases[1].tokens");
    report = kit_report();
    report["cases"][1]["diagnosis"]["runner_up_is_bound"] = "yes";
    refusal(report, "cases[1].diagnosis.runner_up_is_bound");
    report = kit_report();
    report["cases"][1].erase("verdict");
    report["cases"][1]["pass"] = 1;
    refusal(report, "cases[1].pass");
    report = kit_report();
    report["cases"][1]["first"]["stage"] = "layer.9.p2c";
    refusal(report, "cases[1].first.stage");
    report = kit_report();
    report["cases"][1]["diagnosis"]["mistake"] = "one";
    refusal(report, "cases[1].diagnosis.mistake");

    write_file(folder / "report.json", "{\"pass\": tru");
    CHECK_THROWS_WITH(read_check_report(folder / "report.json"), Catch::Contains("not valid JSON"));
    CHECK_THROWS_WITH(read_check_report(folder / "gone.json"), Catch::Contains("gone.json"));
    CHECK_THROWS_WITH(read_check_report(folder.path()), Catch::Contains("not a regular file"));
}

}  // namespace locus::test::test_check_report

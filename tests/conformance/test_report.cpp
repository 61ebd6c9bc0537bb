// A report says the same on a terminal, in JSON, in JUnit and on a page.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/report/report.h"
#include "core/io/safetensors.h"
#include "core/models/deberta.h"
#include "core/stages.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/oracle_cases.h"
#include "tests/run_program.h"

namespace locus::test::test_report {

using namespace locus::conformance;

namespace {

/// A port that follows the paper against the recorded pass: one failing case beside one that passes.
Report paper_port() {
    const fs::path folder = kOracle / "ms_deberta_v3_emd";
    const Trace reference = read_trace(folder / "trace_exact.safetensors");
    const auto model = ModelFolder::open((folder / "model").string());
    const auto segments = read_segments(folder / "inputs.safetensors", folder / "trace.safetensors");
    const Deberta<float> port(parse_deberta_config(model->config_json, model->location), model->source);
    const Trace candidate = port.forward(segments.front(), DebertaOptions::of(Dialect::paper));
    Report report;
    report.kit = "1.0";
    report.kit_hash = "0123456789abcdef";
    report.candidate = "dumps <of> a \"port\"";
    report.cases.resize(3);
    CaseReport& failing = report.cases[0];
    failing.id = "L3/v3";
    failing.level = "L3";
    failing.why = "a & b";
    failing.verdict = Verdict::fail;
    failing.comparison = compare(reference, candidate);
    const StageVerdict& first = *failing.comparison.first();
    failing.diagnosis = diagnose({reference, candidate, model, segments}, failing.comparison, first);
    failing.first = ShownStage{first.name,
                               widened(reference.at(first.name)),
                               widened(candidate.at(first.name)),
                               reference.at(first.name).axes,
                               {}};
    failing.would_narrow = {"layer.0.k"};
    failing.first->tokens = {"4", "8"};
    failing.reference_file = "/kit/v3/reference.safetensors";
    report.cases[1].id = "L1/c2p";
    report.cases[1].level = "L1";
    report.cases[1].verdict = Verdict::pass;
    report.cases[2].id = "L1/p2c";
    report.cases[2].level = "L1";
    return report;
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
    return count;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("report: dumps that could not be read for one reason are said once", "[kit]") {
    Report report = paper_port();
    const auto refuse = [&](const std::string& id, const std::string& why) {
        CaseReport& one = report.cases.emplace_back();
        one.id = id;
        one.verdict = Verdict::fail;
        one.refusal = id + ": " + why;
    };
    for (const char* id : {"L0/a", "L0/b", "L0/c", "L0/d", "L0/e"})
        refuse(id, std::string("port: ended with status 1 for the case /kit/") + id);
    refuse("L0/f", "port: ended with status 2 for the case /kit/L0/f");
    const std::string text = report_text(report, false);
    INFO(text);
    CHECK(holds(text,
                "\nL0/a  FAIL\n  L0/a: port: ended with status 1 for the case /kit/L0/a\n"
                "  the same for 4 more: L0/b, L0/c, L0/d, ...\n\nL0/f  FAIL\n"));
    CHECK(count_of(text, "ended with status 1") == 1);
    CHECK(holds(text, "port: ended with status 2 for the case /kit/L0/f\n\nFAIL: of 9 cases"));
}

TEST_CASE("report: what a repair would leave is told of what has a name and of what has none", "[kit]") {
    Report report = paper_port();
    CaseReport& one = report.cases[0];
    const Diagnosis named = *one.diagnosis;
    REQUIRE(named.named);
    Diagnosis nameless = named;
    nameless.named.reset();
    nameless.pattern = "every value is 2 times what it should be";
    const auto says = [&](const std::vector<WrongStage>& stages, const std::vector<std::string>& not_judged,
                          Repaired to, const std::string& words) {
        one.all = AllMistakes{stages, not_judged, to, 0, 0, ""};
        const std::string text = divergence_text(one);
        INFO(text);
        CHECK(text.find("\n  " + words + "\n") != std::string::npos);
    };
    const WrongStage p2c{"layer.0.p2c", named, {}, "", ""}, ffn{"layer.0.ffn", nameless, {}, "", ""},
        last{"layer.1.output", nameless, {}, "", ""};
    says({p2c}, {}, Repaired::yes, "right once this is repaired: yes");
    says({p2c, ffn}, {}, Repaired::no, "right once what has a name is repaired: no, layer.0.ffn is wrong by itself");
    says({p2c, ffn, last}, {}, Repaired::no,
         "right once what has a name is repaired: no, layer.0.ffn is wrong by itself, and 1 more");
    says({p2c, ffn}, {"mlm.logits", "mlm.loss"}, Repaired::no,
         "right once what has a name is repaired: no, layer.0.ffn is wrong by itself; besides, nobody can say what "
         "mlm.logits follows from (and 1 more)");
    says({ffn}, {}, Repaired::no, "every other stage reported is right, or follows from it");
    says({ffn, last}, {}, Repaired::no, "every other stage reported is right, or follows from these");
    says({ffn}, {"mlm.logits"}, Repaired::no, "nobody can say what mlm.logits follows from");
    says({p2c}, {"mlm.logits"}, Repaired::unknown,
         "right once this is repaired: unknown, nobody can say what mlm.logits follows from");
}

TEST_CASE("report: a terminal shows levels, the first divergence, the mistake and what to do next", "[kit]") {
    const std::string text = report_text(paper_port(), false);
    INFO(text);
    CHECK(text.find("L1 term      1 of 1   pass, 1 not reported\n") != std::string::npos);
    CHECK(text.find("L3 model     0 of 1   pass   FAIL v3\n") != std::string::npos);
    CHECK(text.find("first wrong stage: layer.0.p2c, 252 of 294 values outside; worst cell [0, 2, 3, 5]: ") !=
          std::string::npos);
    CHECK(text.find("[b0 h2 q3 k5] is off by 13.163, ") != std::string::npos);
    CHECK(text.find("the diagonal is right everywhere\n") != std::string::npos);
    CHECK(text.find("this is mistake 1: ") != std::string::npos);
    CHECK(text.find("locus check --explain 1, locus lesson 9\n") != std::string::npos);
    CHECK(text.find("report these too, they would narrow it down most: layer.0.k\n") != std::string::npos);
    CHECK(text.ends_with("\nFAIL: of 3 cases 1 passed, 1 failed, 1 not reported\n"));
    CHECK(text.find('\033') == std::string::npos);
    CHECK(report_text(paper_port(), true).find("\033[31m") != std::string::npos);
}

TEST_CASE("report: nothing wrong passes, a waiver that no longer fails does not", "[kit]") {
    Report report = paper_port();
    CHECK_FALSE(report.pass());
    report.cases.erase(report.cases.begin());
    CHECK(report.pass());
    CHECK(report_text(report, false).find("\npass: of 2 cases 1 passed, 0 failed, 1 not reported") !=
          std::string::npos);
    report.errors.push_back("waiver L1/c2p: it no longer fails");
    CHECK_FALSE(report.pass());
    CHECK(report_text(report, false).find("error: waiver L1/c2p: it no longer fails") != std::string::npos);
}

TEST_CASE("report: JSON holds pass, first, diagnosis and stages of every case", "[kit]") {
    const nlohmann::json json = nlohmann::json::parse(report_json(paper_port()));
    CHECK(json["format"] == "locus-report");
    CHECK(json["pass"] == false);
    const nlohmann::json& failing = json["cases"][0];
    CHECK(failing["verdict"] == "fail");
    CHECK(failing["first"]["stage"] == "layer.0.p2c");
    CHECK(failing["first"]["index"] == std::vector<int>{0, 2, 3, 5});
    CHECK(failing["first"]["found"].get<double>() == Approx(4.3401).epsilon(1e-4));
    CHECK(failing["diagnosis"]["mistake"] == 1);
    CHECK(failing["diagnosis"]["residual"].get<double>() <= failing["diagnosis"]["allowed"].get<double>());
    CHECK(failing["diagnosis"].contains("runner_up"));
    CHECK(failing["stages"].size() > 50);
    CHECK(json["cases"][1]["first"].is_null());
    CHECK(json["cases"][1]["diagnosis"].is_null());
    CHECK(json["cases"][2]["verdict"] == "not reported");
    // Where the values lie, for the viewer.
    CHECK(failing["reference_file"] == "/kit/v3/reference.safetensors");
    CHECK(failing["candidate_file"].is_null());
    CHECK(failing["tokens"] == std::vector<std::string>{"4", "8"});
    CHECK(json["cases"][1]["tokens"].empty());
}

TEST_CASE("report: JUnit counts failures and what was not reported, and escapes what XML forbids", "[kit]") {
    Report report = paper_port();
    report.cases[2].id = "L1/<p2c> & \"more\"\x01\xff";
    const std::string xml = report_junit(report);
    CHECK(xml.find("tests=\"3\" failures=\"1\" skipped=\"1\"") != std::string::npos);
    CHECK(count_of(xml, "<testcase ") == 3);
    CHECK(count_of(xml, "<failure message=\"layer.0.p2c: 252 of 294 values outside\">") == 1);
    CHECK(xml.find("name=\"L1/&lt;p2c&gt; &amp; &quot;more&quot;\ufffd\"") != std::string::npos);
    const std::string page = report_html(report);
    CHECK(page.find("L1/&lt;p2c&gt; &amp; &quot;more&quot;\ufffd") != std::string::npos);
    for (const std::string& text : {xml, page})
        CHECK((text.find('\x01') == text.npos && text.find('\xff') == text.npos));
}

TEST_CASE("report: the page needs no network and no script; every cell of its pictures tells its value", "[kit]") {
    const std::string page = report_html(paper_port());
    for (const char* outside : {"http:", "https:", "<script", "@import", "url("}) {
        INFO(outside);
        CHECK(page.find(outside) == std::string::npos);
    }
    CHECK(count_of(page, "<svg ") == 3);
    CHECK(count_of(page, "<rect ") == 3 * 7 * 7);
    CHECK(count_of(page, "<title>[") == 3 * 7 * 7);
    CHECK(page.find("<title>[3, 5] -8.82286</title>") != std::string::npos);
    CHECK(page.find("<title>[3, 5] 4.3401</title>") != std::string::npos);
    CHECK(count_of(page, "<details open>") == 1);
    CHECK(count_of(page, "<details>") == 2);
    CHECK(page.find("dumps &lt;of&gt; a &quot;port&quot;") != std::string::npos);
    CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
}

TEST_CASE("report: a browser opens the page without a complaint", "[kit]") {
    if (std::system("command -v chromium >/dev/null 2>&1") != 0) {
        WARN("skipped: chromium is not installed");
        return;
    }
    const TemporaryFolder folder;
    write_file(folder / "report.html", report_html(paper_port()));
    const Outcome outcome =
        run_file("/usr/bin/env", {"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                                  "--user-data-dir=" + (folder / "profile").string(), "--dump-dom",
                                  "file://" + (folder / "report.html").string()});
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.find("CONSOLE") == std::string::npos);
    CHECK(count_of(outcome.out, "<rect ") == 3 * 7 * 7);
    CHECK(count_of(outcome.out, "<details open=\"\">") == 1);
}

// Every printer and every number of a report speak of the same stage: the first that fails while what it is made of
// passes, waivers aside.

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

TEST_CASE("report: every axis of the worst cell has its letter", "[kit]") {
    const auto place_of = [](const std::string& name, Scheme scheme = Scheme::disentangled) {
        const Tensor<double> right({2, 3, 4});
        Tensor<double> wrong = right;
        wrong[(1 * 3 + 2) * 4 + 3] = 1;
        Trace reference, candidate;
        reference.add(named(name, right));
        candidate.add(named(name, wrong));
        CaseReport one;
        one.verdict = Verdict::fail;
        one.comparison = compare(reference, candidate);
        one.first = ShownStage{name, right, wrong, describe_stage(name, scheme)->axes, {}};
        const std::string text = divergence_text(one);
        return text.substr(text.find("\n  [") + 3, text.find(" is off by") - text.find("\n  [") - 3);
    };
    CHECK(place_of("mlm.logits") == "[b1 t2 v3]");
    CHECK(place_of("memory.0", Scheme::two_stream) == "[b1 m2 c3]");
    CHECK(place_of("layer.0.ffn_act") == "[b1 t2 c3]");
    CHECK(place_of("mlm.transform") == "[b1 t2 c3]");
    CHECK(place_of("layer.0.r_k", Scheme::two_stream) == "[h1 r2 c3]");
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

}  // namespace locus::test::test_report

// The report for other programs: JSON, and JUnit for continuous integration.
#include <nlohmann/json.hpp>

#include "core/conformance/report/report.h"
#include "core/json_text.h"
#include "core/text/tokenizers/unicode.h"

namespace locus::conformance {

namespace {

using Json = nlohmann::ordered_json;

Json cell(const StageVerdict& verdict) {
    const bool compared = verdict.worst >= 0;
    return {{"stage", verdict.name},
            {"reason", verdict.reason},
            {"index", compared ? Json(verdict.worst_index) : Json()},
            {"expected", compared ? json_number(verdict.expected) : Json()},
            {"found", compared ? json_number(verdict.found) : Json()}};
}

Json stage_json(const StageVerdict& verdict) {
    Json stage = cell(verdict);
    stage["pass"] = verdict.pass;
    stage["max_difference"] = json_number(verdict.max_difference);
    stage["allowed"] = json_number(verdict.allowed);
    stage["loose"] = verdict.is_loose();
    stage["rtol"] = verdict.tolerance.relative;
    stage["atol"] = verdict.tolerance.absolute;
    stage["wrong"] = verdict.wrong;
    stage["size"] = verdict.size;
    return stage;
}

Json diagnosis_json(const std::optional<Diagnosis>& diagnosis) {
    if (!diagnosis || !diagnosis->named) return nullptr;
    const Mistake& mistake = mistake_of(diagnosis->named->mistake);
    return {{"mistake", mistake.number},
            {"name", mistake.name},
            {"how", diagnosis->named->how},
            {"residual", diagnosis->named->residual},
            {"allowed", diagnosis->named->allowed},
            {"runner_up", diagnosis->runner_up ? Json(diagnosis->runner_up->mistake) : Json()},
            {"runner_up_is_bound", diagnosis->runner_up && diagnosis->runner_up->is_bound},
            {"runner_up_residual", diagnosis->runner_up ? json_number(diagnosis->runner_up->residual) : Json()},
            {"equivalent", diagnosis->equivalent},
            {"in_whole_pass", diagnosis->in_whole_pass},
            {"evidence", mistake.evidence},
            {"betrays", mistake.betrays},
            {"lesson", mistake.lesson}};
}

Json nearest_json(const Diagnosis& diagnosis) {
    const std::optional<Nearest> nearest = nearest_of(diagnosis);
    if (!nearest) return nullptr;
    const Explanation& best = nearest->mistake;
    return {{"mistake", best.mistake},
            {"name", mistake_of(best.mistake).name},
            {"how", best.how},
            {"residual", json_number(best.residual)},
            {"allowed", json_number(best.allowed)},
            {"right_leaves", nearest->right_leaves ? json_number(*nearest->right_leaves) : Json()}};
}

/// A line per mistake; a stage that two mistakes explain together has two, one that nobody can name has one.
Json diagnoses_json(const std::optional<AllMistakes>& all) {
    Json list = Json::array();
    if (!all) return list;
    const auto add = [&](const WrongStage& stage, const Explanation* found, Json together) {
        Json one = {{"stage", stage.stage},
                    {"mistake", nullptr},
                    {"name", nullptr},
                    {"how", nullptr},
                    {"residual", nullptr},
                    {"allowed", nullptr},
                    {"evidence", nullptr},
                    {"together_with", std::move(together)},
                    {"first_at", stage.first_at.empty() ? Json() : Json(stage.first_at)},
                    {"saved", stage.saved.empty() ? Json() : Json(stage.saved)},
                    {"pattern", found ? Json() : Json(stage.diagnosis.pattern)},
                    {"nearest", found ? Json() : nearest_json(stage.diagnosis)}};
        if (found) {
            const Mistake& mistake = mistake_of(found->mistake);
            one.update({{"mistake", mistake.number},
                        {"name", mistake.name},
                        {"how", found->how},
                        {"residual", found->residual},
                        {"allowed", found->allowed},
                        {"evidence", mistake.evidence}});
        }
        list.push_back(std::move(one));
    };
    for (const WrongStage& stage : all->stages) {
        if (stage.pair.empty()) add(stage, stage.diagnosis.named ? &*stage.diagnosis.named : nullptr, Json());
        for (std::size_t n = 0; n < stage.pair.size(); ++n) add(stage, &stage.pair[n], stage.pair[1 - n].mistake);
    }
    return list;
}

}  // namespace

std::string markup(const std::string& text) {
    std::string safe;
    for (const char letter : repair_utf8(text).text) switch (letter) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            default:
                if (static_cast<unsigned char>(letter) >= 32 || letter == '\n' || letter == '\t') safe += letter;
        }
    return safe;
}

namespace {}  // namespace

const char* verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass:
            return "pass";
        case Verdict::fail:
            return "fail";
        case Verdict::waived:
            return "waived";
        case Verdict::not_reported:
            break;
    }
    return "not reported";
}

Json case_json(const CaseReport& report) {
    const auto path = [](const std::string& file) { return file.empty() ? Json() : Json(file); };
    Json stages = Json::array();
    for (const StageVerdict& verdict : report.comparison.stages) stages.push_back(stage_json(verdict));
    const StageVerdict* first = report.wrong();
    return {{"pass", report.verdict == Verdict::pass},
            {"first", first ? cell(*first) : Json()},
            {"diagnosis", diagnosis_json(report.diagnosis)},
            {"diagnoses", diagnoses_json(report.all)},
            {"right_once_repaired", report.all ? Json(repaired_word(report.all->repaired)) : Json()},
            {"doubt", report.all && !report.all->doubt.empty() ? Json(report.all->doubt) : Json()},
            {"not_judged", report.all ? Json(report.all->not_judged) : Json::array()},
            {"inputs", report.inputs.empty() ? Json() : Json(report.inputs)},
            {"pattern", report.diagnosis ? Json(report.diagnosis->pattern) : Json()},
            {"would_narrow", report.would_narrow},
            {"would_learn", report.would_learn},
            {"passes_as", report.passes_as},
            {"rounded_to", report.rounded_to.empty() ? Json() : Json(report.rounded_to)},
            {"stages", stages},
            {"missing", report.comparison.missing},
            {"unexpected", report.comparison.unexpected},
            {"tokens", report.first ? Json(report.first->tokens) : Json::array()},
            {"reference_file", path(report.reference_file)},
            {"candidate_file", path(report.candidate_file)}};
}

std::string report_json(const Report& report) {
    Json cases = Json::array();
    for (const CaseReport& one : report.cases) {
        Json json = {{"id", one.id},           {"level", one.level},
                     {"family", one.family},   {"verdict", verdict_name(one.verdict)},
                     {"refusal", one.refusal}, {"waiver", one.waiver}};
        json.update(case_json(one));
        cases.push_back(json);
    }
    const Counts counts = counts_of(report.cases);
    const Json all = {{"format", "locus-report"},
                      {"version", "1.0"},
                      {"pass", report.pass()},
                      {"kit", {{"version", report.kit}, {"sha256", report.kit_hash}}},
                      {"candidate", report.candidate},
                      {"dialect", report.dialect},
                      {"dtype", report.dtype},
                      {"errors", report.errors},
                      {"counts",
                       {{"passed", counts.passed},
                        {"failed", counts.failed},
                        {"waived", counts.waived},
                        {"not_reported", counts.not_reported}}},
                      {"cases", cases}};
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_junit(const Report& report) {
    std::size_t failures = report.errors.size(), skipped = 0;
    std::string cases;
    for (const CaseReport& one : report.cases) {
        cases += "  <testcase classname=\"" + markup(one.level.empty() ? "locus" : "locus." + one.level) +
                 "\" name=\"" + markup(one.id) + "\"";
        if (one.verdict == Verdict::pass) {
            cases += "/>\n";
        } else if (one.verdict == Verdict::fail) {
            ++failures;
            const StageVerdict* first = one.wrong();
            cases += ">\n    <failure message=\"" + markup(first ? first->name + ": " + first->reason : one.refusal) +
                     "\">" + markup(divergence_text(one)) + "</failure>\n  </testcase>\n";
        } else {
            ++skipped;
            cases += ">\n    <skipped message=\"" +
                     markup(one.waiver.empty() ? verdict_name(one.verdict) : one.waiver) + "\"/>\n  </testcase>\n";
        }
    }
    for (const std::string& error : report.errors)
        cases += "  <testcase classname=\"locus\" name=\"waivers\">\n    <failure message=\"" + markup(error) +
                 "\"/>\n  </testcase>\n";
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"locus kit\" tests=\"" +
           std::to_string(report.cases.size() + report.errors.size()) + "\" failures=\"" + std::to_string(failures) +
           "\" skipped=\"" + std::to_string(skipped) + "\">\n" + cases + "</testsuite>\n";
}

}  // namespace locus::conformance

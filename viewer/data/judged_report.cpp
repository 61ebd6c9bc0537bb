// A report that this program made, as the pages show it.
#include <limits>

#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/report/report.h"
#include "viewer/data/check_report.h"

namespace locus {

namespace {

ReportedStage stage_of(const StageVerdict& verdict) {
    ReportedStage stage;
    stage.name = verdict.name;
    stage.state = verdict.pass ? StageState::pass : StageState::fail;
    stage.reason = verdict.reason;
    stage.expected = stage.found = std::numeric_limits<double>::quiet_NaN();
    if (verdict.worst >= 0) {  // else nothing was compared: another shape or dtype
        stage.index = verdict.worst_index;
        stage.expected = verdict.expected;
        stage.found = verdict.found;
    }
    stage.allowed = verdict.allowed;
    stage.wrong = verdict.wrong;
    stage.size = verdict.size;
    return stage;
}

std::optional<ReportedMistake> mistake_named_by(const std::optional<conformance::Diagnosis>& diagnosis) {
    if (!diagnosis || !diagnosis->named) return std::nullopt;
    const conformance::Mistake& entry = conformance::mistake_of(diagnosis->named->mistake);
    ReportedMistake mistake;
    mistake.number = entry.number;
    mistake.name = entry.name;
    mistake.how = diagnosis->named->how;
    mistake.betrays = entry.betrays;
    mistake.lesson = entry.lesson;
    mistake.residual = diagnosis->named->residual;
    mistake.runner_up_residual = std::numeric_limits<double>::quiet_NaN();
    if (diagnosis->runner_up) {
        mistake.runner_up = diagnosis->runner_up->mistake;
        mistake.runner_up_residual = diagnosis->runner_up->residual;
        mistake.runner_up_is_bound = diagnosis->runner_up->is_bound;
    }
    return mistake;
}

ReportedCase case_of_report(const conformance::CaseReport& report) {
    ReportedCase one;
    one.id = report.id;
    one.family = report.family;
    one.verdict = conformance::verdict_name(report.verdict);
    one.refusal = report.refusal;
    one.waiver = report.waiver;
    one.reference = std::filesystem::path(report.reference_file);
    one.candidate = std::filesystem::path(report.candidate_file);
    for (const StageVerdict& verdict : report.comparison.stages) one.stages.push_back(stage_of(verdict));
    one.add_silent(report.comparison.missing);
    if (const StageVerdict* first = report.wrong()) one.first = first->name;
    one.mistake = mistake_named_by(report.diagnosis);
    if (report.diagnosis) one.pattern = report.diagnosis->pattern;
    one.would_narrow = report.would_narrow;
    if (report.first) one.tokens = report.first->tokens;
    if (!report.all) return one;
    one.doubt = report.all->doubt;
    one.right_once_repaired = conformance::repaired_word(report.all->repaired);
    for (const conformance::WrongStage& stage : report.all->stages) {
        if (!stage.first_at.empty()) continue;  // the same mistake at a further layer
        for (const conformance::Explanation& each : stage.pair)
            one.by_themselves.push_back(
                {stage.stage, each.mistake, conformance::mistake_of(each.mistake).name, "", ""});
        if (!stage.pair.empty()) continue;
        const int number = stage.diagnosis.named ? stage.diagnosis.named->mistake : 0;
        one.by_themselves.push_back({stage.stage, number, number == 0 ? "" : conformance::mistake_of(number).name,
                                     stage.diagnosis.pattern, stage.saved});
    }
    return one;
}

}  // namespace

CheckReport check_report_of(const conformance::Report& report, const std::filesystem::path& file) {
    CheckReport shown;
    shown.file = file;
    shown.pass = report.pass();
    shown.errors = report.errors;
    for (const conformance::CaseReport& one : report.cases) shown.cases.push_back(case_of_report(one));
    return shown;
}

}  // namespace locus

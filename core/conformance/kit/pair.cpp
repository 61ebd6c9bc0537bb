#include "core/conformance/kit/pair.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/conformance/diagnosis/reference_exactness.h"
#include "core/conformance/diagnosis/whole_pass.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/kit/found_inputs.h"
#include "core/io/input_file.h"
#include "core/io/model_request.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostWork = 1e12;  // multiplications of whole passes: a minute or two on two processors

/// The first stage that fails while what it depends on passes.
const StageVerdict& first_of(const KitCase& stages, const Comparison& comparison) {
    const std::vector<std::string> wrong = first_wrong(stages, comparison);
    for (const StageVerdict& verdict : comparison.stages)
        if (!wrong.empty() && verdict.name == wrong.front()) return verdict;
    return *comparison.first();
}

/// A candidate of which no stage can be compared is a mistake in its names, not in its numbers.
void require_common_stage(const TracePair& pair) {
    const std::vector<std::string> known = pair.reference.names(), found = pair.candidate.names();
    const auto is_known = [&](const std::string& name) { return pair.reference.has(name); };
    if (std::any_of(found.begin(), found.end(), is_known)) return;
    std::string sentence =
        printable(pair.candidate_name) + " and " + printable(pair.reference_name) + " have no stage in common";
    if (!known.empty() && !found.empty())
        sentence += "; the nearest to \"" + printable(found.front().substr(0, 80)) + "\" is " +
                    printable(nearest(found.front(), known));
    throw Error(Fault::usage, sentence);
}

/// One clause where the reference, or the candidate, is in double and shows that it is exact to kSinglePrecision alone;
/// empty where neither does.
std::string single_precision(const Evidence& evidence, const Comparison& comparison, const StageVerdict& first) {
    const auto clause = [](const char* whose, const std::string& stage) {
        return std::string("the ") + whose + " is exact to " + format_number(kSinglePrecision) + ", as " + stage +
               " was computed there in single precision, at least in part";
    };
    if (const auto stage = shows_single_precision(evidence, comparison, first)) return clause("reference", *stage);
    return has_single_angles(first) ? clause("candidate", first.name) : "";
}

/// The comparison with a tolerance of at least kSinglePrecision for every stage but those of embeddings that are exact.
Comparison compared_in_single(const Evidence& evidence, const TracePair& pair, const Comparison& in_double) {
    Comparison loose = compare(evidence.reference, pair.candidate, {}, evidence.stored, {}, kSinglePrecision);
    for (std::size_t n = 0; n < loose.stages.size(); ++n)
        if (loose.stages[n].pass && !in_double.stages[n].pass &&
            has_exact_embeddings(evidence, in_double, in_double.stages[n]))
            loose.stages[n] = in_double.stages[n];
    return loose;
}

/// How many stages the reference lacks, the first few by name, and what the first may have been meant to be.
std::string unexpected_names(const Comparison& comparison) {
    constexpr std::size_t kMost = 4;
    const std::vector<std::string>& names = comparison.unexpected;
    std::string text = std::to_string(names.size()) +
                       (names.size() == 1 ? " stage not in the reference: " : " stages not in the reference: ");
    for (std::size_t n = 0; n < std::min(kMost, names.size()); ++n)
        text += (n ? ", " : "") + printable(names[n].substr(0, 80));
    if (names.size() > kMost) text += ", ...";
    if (comparison.missing.empty()) return text + "\n";
    // The name that is nearest to one that is missing: others may be stages of the candidate's own.
    constexpr std::size_t kLooked = 32;
    std::string slip, meant;
    for (std::size_t n = 0; n < std::min(kLooked, names.size()); ++n) {
        const std::string near = nearest(names[n], comparison.missing);
        if (slip.empty() || edits(names[n].substr(0, 200), near) < edits(slip.substr(0, 200), meant))
            slip = names[n], meant = near;
    }
    return text + "; of those not reported the nearest to " + printable(slip.substr(0, 80)) + " is " +
           printable(meant) + "\n";
}

std::string shorter_text(Index tokens) {
    return "with a text of at most " + std::to_string(tokens) + (tokens == 1 ? " token" : " tokens") +
           " every mistake of the catalogue can be made in a whole pass and held against what is reported";
}

}  // namespace

std::vector<ModelInput> segments_of(const std::string& input_file, const ModelFolder& model) {
    if (input_file.empty()) return {};
    ModelRequest request;
    request.input_file = input_file;
    const auto names = open_model<double>(model.config_json, model.location, model.source)->input_names();
    return prepare_input(request, model.folder(), model.family, names).segments;
}

CaseReport judge_pair(const TracePair& pair, const std::function<void(const CaseReport& so_far)>& tell) {
    require_common_stage(pair);
    CaseReport one;
    one.id = pair.candidate_name;
    one.accuracy = pair.accuracy;
    if (pair.accuracy > 0)
        one.accuracy_said = "the reference is exact to " + format_number(pair.accuracy) + ", says its case.json";
    one.rounded_to = narrower_dtype(pair.candidate, pair.stored);
    const auto stored = stored_as(pair.candidate, one.rounded_to, pair.stored);
    one.comparison = compare(pair.reference, pair.candidate, pair.fixed, stored, pair.compared, pair.accuracy);
    const auto pass = [&] {
        one.verdict = Verdict::pass;
        if (tell) tell(one);
        return one;
    };
    if (one.comparison.pass() && one.comparison.unexpected.empty()) return pass();
    Evidence evidence{pair.reference, pair.candidate, pair.model, pair.segments};
    evidence.stored = stored;
    evidence.dialect = pair.dialect;
    if (!pair.model) evidence.family = family_shown(pair.reference);
    evidence.stop = pair.stop;
    evidence.most_work = kMostWork;
    evidence.passes_done = pair.passes_done;
    if (const std::optional<TraceView> filled = filled_reference(evidence)) {
        evidence.reference = *filled;
        one.filled = filled->names().size() - pair.reference.names().size();
        one.comparison = compare(*filled, pair.candidate, pair.fixed, stored, {}, pair.accuracy);
    }
    if (one.comparison.pass()) return pass();
    one.verdict = Verdict::fail;
    if (const std::optional<TraceView> whole = reference_there_and_back(evidence)) evidence.reference = *whole;
    evidence.dialect = dialect_shown(evidence, one.comparison);
    const KitCase stages = case_of(evidence.reference);
    const StageVerdict* first = &first_of(stages, one.comparison);
    const bool derived = !pair.fixed && pair.accuracy == 0;
    if (const std::string said = derived ? single_precision(evidence, one.comparison, *first) : ""; !said.empty()) {
        one.accuracy = kSinglePrecision;
        one.accuracy_said = said;
        one.comparison = compared_in_single(evidence, pair, one.comparison);
        if (one.comparison.pass()) return pass();
        first = &first_of(stages, one.comparison);
    }
    const auto expected = evidence.reference.at(first->name);
    one.first =
        ShownStage{first->name, widened(*expected), widened(*pair.candidate.at(first->name)), expected->axes, {}};
    name_tokens(*one.first, *first, pair.segments, pair.model ? pair.model->folder() : "", pair.recorded);
    if (tell) tell(one);
    one.all = diagnose_all(evidence, one.comparison, *first, stages.depends);
    one.all->doubt = doubt_of_reference(evidence, one.comparison, *first);
    Diagnosis& diagnosis = one.all->stages.front().diagnosis;
    if (diagnosis.follows && !one.all->doubt.empty())  // then nothing before it is to blame
        diagnosis.pattern = first->name + " follows from what the candidate reports by the right formula";
    one.diagnosis = diagnosis;
    if (!one.all->stages.front().saved.empty()) return one;  // more stages or inputs would say no more
    one.would_narrow = would_narrow(stages, one.comparison, first->name);
    one.would_learn = would_learn(evidence, *first, *one.diagnosis, pair.says_inputs);
    if (one.would_learn.empty() && !diagnosis.named && one.all->tokens_for_passes > 0)
        one.would_learn = shorter_text(one.all->tokens_for_passes);
    return one;
}

std::string pair_json(const CaseReport& report, const std::optional<Tolerance>& fixed) {
    Json json = case_json(report);
    json["tolerance"] = {{"derived", !fixed}};
    if (fixed) json["tolerance"].update({{"rtol", fixed->relative}, {"atol", fixed->absolute}});
    if (!fixed && report.accuracy > 0)
        json["tolerance"].update({{"at_least", report.accuracy}, {"because", report.accuracy_said}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string pair_text(const CaseReport& report, const std::optional<Tolerance>& fixed) {
    return pair_verdicts(report, fixed) + explanation_text(report);
}

std::string pair_verdicts(const CaseReport& report, const std::optional<Tolerance>& fixed) {
    const Comparison& comparison = report.comparison;
    std::string text = fixed ? "tolerance: rtol " + format_number(fixed->relative) + ", atol " +
                                   format_number(fixed->absolute) + ", the same for every stage\n"
                             : "tolerance: derived from dtype and reduction length, stage by stage\n";
    if (!fixed) text += accuracy_text(report) + rounded_text(report);
    std::vector<std::vector<std::string>> rows = {{"stage", "max difference", "allowed", "verdict"}};
    for (const StageVerdict& verdict : comparison.stages)
        rows.push_back({verdict.name, verdict.worst >= 0 ? format_number(verdict.max_difference) : "-",
                        format_number(verdict.allowed), verdict.pass ? "ok" : "WRONG: " + verdict.reason});
    text += text_table(rows, {false, true, true, false});
    if (!fixed) text += loose_text(comparison.loose(), comparison.stages.size());
    if (!comparison.missing.empty())
        text += std::to_string(comparison.missing.size()) + " stages of the reference not reported\n";
    text += filled_text(report);
    if (!comparison.unexpected.empty()) text += unexpected_names(comparison);
    if (comparison.pass())
        return text + "pass: " + std::to_string(comparison.stages.size()) + " stages inside the tolerance\n";
    return text + first_wrong_text(report);
}

}  // namespace locus::conformance

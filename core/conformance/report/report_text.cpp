// The report on a terminal.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/conformance/diagnosis/patterns.h"
#include "core/conformance/report/place.h"
#include "core/io/input_file.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

constexpr double kMostSteps = 1e6;  // of float32 that are worth a word: more is not rounding

std::string painted(const std::string& text, const char* code, bool colour) {
    return colour ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

/// "expected 1.207, found -2.203" with as many digits as tell them apart.
std::string both(double expected, double found) {
    std::string texts[2];
    for (const int digits : {6, 9, 17}) {
        texts[0] = format_number(expected + 0.0, digits);  // -0 is 0
        texts[1] = format_number(found + 0.0, digits);
        if (texts[0] != texts[1]) break;
    }
    return "expected " + texts[0] + ", found " + texts[1];
}

std::string named(const Diagnosis& diagnosis) {
    const Mistake& mistake = mistake_of(diagnosis.named->mistake);
    std::string text = "  this is mistake " + std::to_string(mistake.number) + ": " + mistake.name;
    if (!diagnosis.named->how.empty()) text += " (" + diagnosis.named->how + ")";
    if (diagnosis.in_whole_pass)
        text += "\n  made from the tokens on, wherever it can be made, it gives every stage that is reported";
    if (diagnosis.pattern.starts_with("every value is")) text += "\n  " + diagnosis.pattern;
    text += "\n  put into our formula, the difference that remains is " + format_number(diagnosis.named->residual) +
            " of the largest value, rounding allows " + format_number(diagnosis.named->allowed);
    if (diagnosis.runner_up)
        text += "; next best: " +
                (diagnosis.runner_up->mistake == 0 ? "the right formula"
                                                   : "mistake " + std::to_string(diagnosis.runner_up->mistake)) +
                (diagnosis.runner_up->is_bound ? " leaves at least " : " leaves ") +
                format_number(diagnosis.runner_up->residual);
    for (const int other : diagnosis.equivalent)
        if (other != 0) text += "\n  the same numbers here: mistake " + std::to_string(other);
    if (!mistake.evidence.empty()) text += "\n  it has happened: " + mistake.evidence;
    text += "\n  read: locus check --explain " + std::to_string(mistake.number);
    if (!mistake.lesson.empty()) text += ", locus lesson " + std::to_string(std::stoi(mistake.lesson));
    return text + "\n";
}

std::string with_way(const Explanation& found) {
    return "mistake " + std::to_string(found.mistake) + ": " + mistake_of(found.mistake).name +
           (found.how.empty() ? "" : " (" + found.how + ")");
}

/// "mistake 40: ... leaves 2e-05, the right formula 3e-04"; empty where nothing comes near.
std::string nearest_words(const Diagnosis& diagnosis) {
    const std::optional<Nearest> nearest = nearest_of(diagnosis);
    if (!nearest) return "";
    const Explanation& best = nearest->mistake;
    return with_way(best) + " leaves " + format_number(best.residual) + " where rounding allows " +
           format_number(best.allowed) +
           (nearest->right_leaves ? ", the right formula leaves " + format_number(*nearest->right_leaves) : "");
}

/// Two mistakes that explain a stage together.
std::string named_together(const std::vector<Explanation>& pair) {
    std::string text = "  these are two mistakes, neither of which explains it alone\n";
    for (const Explanation& each : pair) {
        text += "  " + with_way(each) + "\n";
        const std::string& evidence = mistake_of(each.mistake).evidence;
        if (!evidence.empty()) text += "    it has happened: " + evidence + "\n";
    }
    return text + "  what they leave together: " + format_number(pair.front().residual) +
           " of the largest value, rounding allows " + format_number(pair.front().allowed) +
           "\n  read: locus check --explain " + std::to_string(pair[0].mistake) + ", --explain " +
           std::to_string(pair[1].mistake) + "\n";
}

/// "the port computes it rightly and ...: every value is 2 times what it should be".
std::string saved_words(const WrongStage& stage) {
    const std::string& pattern = stage.diagnosis.pattern;
    const bool says_more = !pattern.empty() && pattern != kNoPattern && pattern != stage.saved;
    return stage.saved + (says_more ? ": " + pattern : "");
}

/// One stage after the first.
std::string named_behind(const WrongStage& stage, const std::string& again) {
    std::string text = "    " + stage.stage + ": ";
    if (!stage.pair.empty())
        text += with_way(stage.pair[0]) + ", and " + with_way(stage.pair[1]);
    else if (stage.diagnosis.named)
        text += with_way(*stage.diagnosis.named);
    else if (stage.saved.empty())
        text += "no mistake of the catalogue explains it; " + stage.diagnosis.pattern;
    else
        text += saved_words(stage);
    if (stage.named()) {
        const Explanation& leaves = stage.pair.empty() ? *stage.diagnosis.named : stage.pair.front();
        text +=
            ", leaves " + format_number(leaves.residual) + " where rounding allows " + format_number(leaves.allowed);
    }
    if (stage.named() && !stage.saved.empty()) text += "\n      yet " + stage.saved;
    const std::string nearest = stage.explained() ? "" : nearest_words(stage.diagnosis);
    if (!nearest.empty()) text += "\n      nearest: " + nearest;
    return text + "\n" + (again.empty() ? "" : "      again at " + again + "\n");
}

/// "layer.1.q, layer.2.q" or, of many, the first four "and 3 more stages".
std::string counted_list(const std::vector<std::string>& stages) {
    constexpr std::size_t kMost = 4;
    std::string names;
    for (std::size_t n = 0; n < std::min(kMost, stages.size()); ++n) names += (n == 0 ? "" : ", ") + stages[n];
    if (stages.size() <= kMost) return names;
    const std::size_t more = stages.size() - kMost;
    return names + " and " + std::to_string(more) + (more == 1 ? " more stage" : " more stages");
}

/// Where else a mistake that was named at this stage was found.
std::string found_again(const AllMistakes& all, const std::string& first_at) {
    std::vector<std::string> stages;
    for (const WrongStage& stage : all.stages)
        if (stage.first_at == first_at) stages.push_back(stage.stage);
    return counted_list(stages);
}

/// Of stages that nobody judged: why not; empty where there are none.
std::string why_unknown(const AllMistakes& all) {
    const auto is_gradient = [](const std::string& stage) { return stage.starts_with("grad."); };
    if (all.not_judged.empty()) return "";
    const auto count = all.not_judged.size();
    if (is_gradient(all.not_judged.front()) && !is_gradient(all.stages.front().stage))
        return (count == 1 ? all.not_judged.front() + " is" : std::to_string(count) + " gradients are") +
               " judged when the forward pass is right";
    return "nobody can say what " + all.not_judged.front() + " follows from" +
           (count > 1 ? " (and " + std::to_string(count - 1) + " more)" : "");
}

/// What a repair of all that was found would leave; `several` mistakes were found.
std::string after_repair(const AllMistakes& all, bool several) {
    std::vector<std::string> unexplained;
    for (const WrongStage& stage : all.stages)
        if (!stage.explained() && !stage.diagnosis.follows) unexplained.push_back(stage.stage);
    const std::string unknown = why_unknown(all);
    const bool no = all.repaired == Repaired::no;
    if (no && unexplained.size() == all.stages.size())
        return unknown.empty()
                   ? std::string("every other stage reported is right, or follows from ") + (several ? "these" : "it")
                   : unknown;
    std::string text =
        std::string("right once ") + (several ? "these are" : "this is") + " repaired: " + repaired_word(all.repaired);
    if (no)
        text = "right once what has a name is repaired: no, " + unexplained.front() + " is wrong by itself" +
               (unexplained.size() > 1 ? ", and " + std::to_string(unexplained.size() - 1) + " more" : "");
    const WrongStage& first = all.stages.front();
    if (first.diagnosis.follows && all.doubt.empty()) text += ", what is wrong lies before " + first.stage;
    if (!unknown.empty()) text += (no ? "; besides, " : ", ") + unknown;
    return text;
}

/// Nothing was found but that the stage is wrong.
bool is_silent(const WrongStage& stage) {
    return !stage.explained() && stage.diagnosis.pattern == kNoPattern && nearest_words(stage.diagnosis).empty();
}

/// Every stage that is wrong by itself after the first, and what a repair of all would leave.
std::string all_mistakes(const AllMistakes& all) {
    std::string text;
    const WrongStage& first = all.stages.front();
    const std::string again = found_again(all, first.stage);
    if (!again.empty()) text += "  the same at " + again + "\n";
    std::string behind;
    std::vector<std::string> silent;  // stages of which nothing is known but that they are wrong
    bool several = all.stages.size() > 1 || !first.pair.empty();
    for (std::size_t n = 1; n < all.stages.size(); ++n) {
        const WrongStage& stage = all.stages[n];
        if (!stage.first_at.empty()) continue;
        if (is_silent(stage)) silent.push_back(stage.stage);
        if (!is_silent(stage) || silent.size() == 1) behind += named_behind(stage, found_again(all, stage.stage));
    }
    if (silent.size() > 1)
        behind += "    nor is anything known of " + counted_list({silent.begin() + 1, silent.end()}) + "\n";
    if (!behind.empty()) text += "  after it, judged by what the candidate itself reports:\n" + behind;
    return text + "  " + after_repair(all, several) + "\n";
}

/// A stage after all layers.
bool is_of_the_head(const std::string& name) {
    const auto [scope, stem] = scope_and_stem(name);
    return stem.starts_with("/mlm.") || stem.starts_with("/lm.") || stem.starts_with("/classifier.") ||
           stem.starts_with("/rtd.");
}

/// Not where XLNet's query stream, of which the logits are made, was not reported.
bool encoder_is_right(const Comparison& comparison) {
    for (const std::string& name : comparison.missing)
        if (name.ends_with(".g.output")) return false;
    bool any = false;
    for (const StageVerdict& stage : comparison.stages) {
        if (scope_and_stem(stage.name).second != "output") continue;
        if (!stage.pass) return false;
        any = true;
    }
    return any;
}

const char* word(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass:
            return "ok";
        case Verdict::fail:
            return "FAIL";
        case Verdict::waived:
            return "waived";
        case Verdict::not_reported:
            break;
    }
    return "not reported";
}

std::string levels(const Report& report, bool colour) {
    static const std::map<std::string, std::string> names = {
        {"L0", "L0 index"}, {"L1", "L1 term"}, {"L2", "L2 layer"}, {"L3", "L3 model"}};
    std::map<std::string, std::vector<const CaseReport*>> by_level;
    for (const CaseReport& one : report.cases) by_level[one.level].push_back(&one);
    std::string text;
    for (const auto& [level, cases] : by_level) {
        const auto count = [&members = cases](Verdict verdict) {
            return std::count_if(members.begin(), members.end(),
                                 [&](const CaseReport* one) { return one->verdict == verdict; });
        };
        const auto name = names.find(level);
        const auto failed = count(Verdict::fail);
        char line[80];
        std::snprintf(line, sizeof line, "%-10s %3d of %-3d pass",
                      name == names.end() ? level.c_str() : name->second.c_str(),
                      static_cast<int>(count(Verdict::pass)),
                      static_cast<int>(static_cast<std::ptrdiff_t>(cases.size()) - count(Verdict::not_reported)));
        text += line;
        if (count(Verdict::not_reported) > 0)
            text += ", " + std::to_string(count(Verdict::not_reported)) + " not reported";
        if (count(Verdict::waived) > 0) text += ", " + std::to_string(count(Verdict::waived)) + " waived";
        if (failed > 0) text += "   " + painted("FAIL", "31", colour);
        for (const CaseReport* one : cases)
            if (one->verdict == Verdict::fail) text += " " + one->id.substr(one->id.find('/') + 1);
        text += "\n";
    }
    return text;
}

}  // namespace

const StageVerdict* CaseReport::wrong() const {
    if (!first) return nullptr;
    for (const StageVerdict& stage : comparison.stages)
        if (stage.name == first->name) return &stage;
    return nullptr;
}

std::string Counts::text() const {
    std::string words = std::to_string(passed) + " passed, " + std::to_string(failed) + " failed";
    if (waived > 0) words += ", " + std::to_string(waived) + " waived";
    if (not_reported > 0) words += ", " + std::to_string(not_reported) + " not reported";
    return words;
}

Counts counts_of(const std::vector<CaseReport>& cases) {
    Counts counts;
    for (const CaseReport& one : cases) {
        counts.passed += one.verdict == Verdict::pass;
        counts.failed += one.verdict == Verdict::fail;
        counts.waived += one.verdict == Verdict::waived;
        counts.not_reported += one.verdict == Verdict::not_reported;
    }
    return counts;
}

bool Report::pass() const {
    return errors.empty() &&
           std::none_of(cases.begin(), cases.end(), [](const CaseReport& one) { return one.verdict == Verdict::fail; });
}

Distance distance_of(const ShownStage& stage, double allowed) {
    Distance distance;
    const Tensor<double>&right = stage.expected, &found = stage.found;
    if (right.shape() != found.shape()) return distance;
    double dot = 0, rights = 0, founds = 0;
    const bool square = right.rank() >= 2 && right.extent(right.rank() - 1) == right.extent(right.rank() - 2);
    const Index side = square ? right.extent(right.rank() - 1) : 1;
    for (Index n = 0; n < right.size(); ++n) {
        dot += right[n] * found[n];
        rights += right[n] * right[n];
        founds += found[n] * found[n];
        const double steps = ulp_distance(static_cast<float>(right[n]), static_cast<float>(found[n]));
        distance.largest_ulp = std::max(distance.largest_ulp, steps);  // not a NaN's
        if (square && !(std::abs(found[n] - right[n]) <= allowed))
            ++(n / side % side == n % side ? distance.on_diagonal : distance.outside_diagonal);
    }
    distance.cosine = dot / std::sqrt(rights * founds);
    return distance;
}

std::string accuracy_text(const CaseReport& report) {
    const std::vector<StageVerdict>& stages = report.comparison.stages;
    const bool used = std::any_of(stages.begin(), stages.end(), [&](const StageVerdict& verdict) {
        return report.accuracy > 0 && verdict.tolerance.absolute == report.accuracy;
    });
    if (!used || report.accuracy_said.empty()) return "";
    std::string stricter;
    for (const StageVerdict& verdict : stages)
        if (verdict.tolerance.absolute > 0 && verdict.tolerance.absolute < report.accuracy)
            stricter += (stricter.empty() ? " but " : ", ") + verdict.name;
    return report.accuracy_said + ": no stage" + stricter + " is held to less\n";
}

std::string rounded_text(const CaseReport& report) {
    if (report.rounded_to.empty()) return "";
    return "every number of the candidate is exact in " + report.rounded_to + ", whatever it is stored in: judged as " +
           report.rounded_to + "\n";
}

std::string loose_text(const std::vector<std::string>& loose, std::size_t stages) {
    if (loose.empty()) return "";
    return std::to_string(loose.size()) + " of " + std::to_string(stages) + " stages pass loosely, first of them " +
           loose.front() +
           ": rounding allows more than a tenth of the largest value there; more exact numbers say more\n";
}

std::string filled_text(const CaseReport& report) {
    if (report.filled == 0) return "";
    return std::to_string(report.filled) +
           (report.filled == 1 ? " stage that the reference does not hold is compared"
                               : " stages that the reference does not hold are compared") +
           " with what Locus computes, whose other stages are the reference's\n";
}

std::string divergence_text(const CaseReport& report) {
    if (!report.refusal.empty()) return "  " + report.refusal + "\n";
    return (report.filled > 0 ? "  " + filled_text(report) : "") + first_wrong_text(report) + explanation_text(report);
}

std::string first_wrong_text(const CaseReport& report) {
    const StageVerdict* first = report.wrong();
    if (!first) return "";
    std::string text = "first wrong stage: " + first->name + ", " + first->reason;
    if (first->worst >= 0)
        text += "; worst cell " + to_string(first->worst_index) + ": " + both(first->expected, first->found);
    text += "\n";
    if (report.first && first->worst >= 0) {
        const Distance distance = distance_of(*report.first, first->allowed);
        text += "  " + place_in_words(*report.first, first->worst_index) + " is off by " +
                format_number(first->max_difference) + ", rounding allows " + format_number(first->allowed);
        // Of whole numbers, as rows of a table are, neither says anything.
        const bool is_measured = first->allowed > 0;
        if (is_measured && std::isfinite(distance.cosine)) text += "; cosine " + format_number(distance.cosine);
        if (is_measured && std::isfinite(first->max_difference) && distance.largest_ulp <= kMostSteps)
            text += ", up to " + format_number(distance.largest_ulp) + " steps of float32";
        text += "\n";
        if (distance.on_diagonal == 0 && distance.outside_diagonal > 0) text += "  the diagonal is right everywhere\n";
    }
    return text;
}

std::string explanation_text(const CaseReport& report) {
    const StageVerdict* first = report.wrong();
    if (!first) return "";
    std::string text;
    const WrongStage* all = report.all ? &report.all->stages.front() : nullptr;
    const bool is_saved = all && !all->saved.empty();
    if (all && !all->pair.empty())
        text += named_together(all->pair);
    else if (report.diagnosis && report.diagnosis->named)
        text += named(*report.diagnosis) + (is_saved ? "  yet " + all->saved + "\n" : "");
    else if (is_saved)
        text += "  " + saved_words(*all) + "\n";
    else if (report.diagnosis) {
        text += "  no mistake of the catalogue explains it; " + report.diagnosis->pattern + "\n";
        const std::string nearest = nearest_words(*report.diagnosis);
        if (!nearest.empty()) text += "  nearest: " + nearest + "\n";
    }
    if (is_of_the_head(first->name) && encoder_is_right(report.comparison))
        text += "  the encoder is right: every layer that was reported agrees; look at the head\n";
    if (report.all) text += all_mistakes(*report.all);
    if (report.all && !report.all->doubt.empty()) text += "  but " + report.all->doubt + "\n";
    if (!report.passes_as.empty())
        text += "  with --dialect " + report.passes_as +
                " this case passes: the port has no mistake if that is what it follows\n";
    if (!report.inputs.empty()) text += "  tokens and masks: " + report.inputs + "\n";
    if (!report.other_inputs.empty()) text += "  " + report.other_inputs + "\n";
    if (!report.would_learn.empty()) text += "  " + report.would_learn + "\n";
    if (!report.would_narrow.empty()) {
        text += "  report these too, they would narrow it down most:";
        for (const std::string& stage : report.would_narrow) text += " " + stage;
        text += "\n";
    }
    return text;
}

static std::string loose_stages(const Report& report) {
    std::vector<std::string> loose;
    std::size_t stages = 0;
    for (const CaseReport& one : report.cases) {
        stages += one.comparison.stages.size();
        for (const std::string& name : one.comparison.loose()) loose.push_back(one.id + " " + name);
    }
    return loose_text(loose, stages);
}

/// What no number of these dumps can show.
static std::string hidden_by_halves(const Report& report) {
    const bool is_half = report.dtype.starts_with("F16") || report.dtype.starts_with("BF16");
    return is_half ? "in half precision some mistakes are smaller than the rounding, such as another form of GELU or "
                     "another eps: dumps in float32 show them\n"
                   : "";
}

/// What a port reports beyond its cases, and nobody could compute.
static std::string not_compared(const Report& report) {
    std::string text;
    for (const CaseReport& one : report.cases) {
        const std::vector<std::string>& names = one.comparison.unexpected;
        if (names.empty()) continue;
        text +=
            one.id + ": " + std::to_string(names.size()) +
            (names.size() == 1 ? " stage that the case does not have is" : " stages that the case does not have are") +
            " not compared: " + printable(names.front()) + (names.size() > 1 ? ", ..." : "") + "\n";
    }
    return text;
}

namespace {

/// Why a dump could not be read, without the name of its case: what a program that crashes says of every one.
std::string reason_of(const CaseReport& one) {
    std::string reason = one.refusal;
    if (one.id.empty()) return reason;
    for (std::size_t at = reason.find(one.id); at != std::string::npos; at = reason.find(one.id, at))
        reason.erase(at, one.id.size());
    return reason;
}

/// "  the same for 112 more: L0/relpos_7x7_k3, L0/relpos_6x6_k8, L0/relpos_3x6_k4, ...".
std::string same_for(const std::vector<std::string>& ids) {
    constexpr std::size_t kMost = 3;
    std::string text;
    for (std::size_t n = 0; n < ids.size() && n < kMost; ++n) text += (n ? ", " : "") + ids[n];
    if (ids.size() > kMost) text += ", ...";
    return "  the same for " + std::to_string(ids.size()) + " more: " + text + "\n";
}

}  // namespace

std::string report_text(const Report& report, bool colour) {
    std::string text;
    if (!report.kit.empty())
        text += "locus kit " + report.kit + " (" + report.kit_hash.substr(0, 8) + ")  dumps " + report.candidate +
                (report.dialect.empty() ? "" : "  dialect " + report.dialect) +
                (report.dtype.empty() ? "" : "  " + report.dtype) + "\n" + levels(report, colour) +
                loose_stages(report) + hidden_by_halves(report) + not_compared(report);
    std::map<std::string, std::vector<std::string>> refused;  // ids by reason
    for (const CaseReport& one : report.cases)
        if (one.verdict == Verdict::fail && !one.refusal.empty()) refused[reason_of(one)].push_back(one.id);
    for (const CaseReport& one : report.cases) {
        if (one.verdict != Verdict::fail) continue;
        const bool unread = !one.refusal.empty();
        std::vector<std::string> same = unread ? refused[reason_of(one)] : std::vector<std::string>();
        if (unread && same.front() != one.id) continue;
        text += "\n" + painted(one.id, "1", colour) + "  " + painted(word(one.verdict), "31", colour) +
                (one.why.empty() ? "" : "  " + one.why) + "\n" + divergence_text(one);
        if (same.size() > 1) text += same_for({same.begin() + 1, same.end()});
    }
    for (const std::string& error : report.errors) text += "\n" + painted("error", "31", colour) + ": " + error + "\n";
    return text + "\n" + (report.pass() ? "pass" : "FAIL") + ": of " + std::to_string(report.cases.size()) + " cases " +
           counts_of(report.cases).text() + "\n";
}

}  // namespace locus::conformance

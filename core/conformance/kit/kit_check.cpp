#include "core/conformance/kit/kit_check.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/conformance/formulas/formulas.h"
#include "core/conformance/kit/kit_background.h"
#include "core/conformance/kit/kit_dialect.h"
#include "core/conformance/kit/kit_first_divergence.h"
#include "core/conformance/kit/kit_inspect.h"
#include "core/conformance/kit/kit_stream.h"

namespace locus::conformance {

namespace {

/// Judged by what rounding explains, or by how exact the reference itself is where that is wider.
Comparison compare_with(const Trace& reference, const Dump& dump, double accuracy) {
    Comparison comparison = compare(reference, dump.trace, std::nullopt, dump.stored);
    if (accuracy <= 0) return comparison;
    const Comparison wider = compare(reference, dump.trace, Tolerance{accuracy, accuracy}, dump.stored);
    for (std::size_t n = 0; n < comparison.stages.size(); ++n)
        if (wider.stages[n].allowed > comparison.stages[n].allowed) comparison.stages[n] = wider.stages[n];
    return comparison;
}

const StageVerdict& verdict_of(const Comparison& comparison, const std::string& name) {
    return *std::find_if(comparison.stages.begin(), comparison.stages.end(),
                         [&](const StageVerdict& verdict) { return verdict.name == name; });
}

/// Token ids of the sample that the worst cell lies in.
std::vector<std::string> tokens_of(const StageVerdict& verdict, const std::vector<std::string>& axes,
                                   const std::vector<ModelInput>& segments) {
    std::vector<std::string> words;
    if (segments.empty() || axes.empty() || axes.front() != "B" || verdict.worst_index.empty()) return words;
    const std::size_t segment = verdict.name.starts_with("segment.") ? std::stoul(verdict.name.substr(8)) : 0;
    if (segment >= segments.size()) return words;
    const ModelInput& input = segments[segment];
    const Index sample = verdict.worst_index.front();
    if (sample >= input.batch()) return words;
    for (Index t = 0; t < input.length(); ++t)
        words.push_back(std::to_string(input.tokens[sample * input.length() + t]));
    return words;
}

void explain(CaseReport& report, const Kit& kit, const KitCase& one, const Trace& reference, const Dump& dump,
             const StageVerdict& verdict, Dialect dialect) {
    const Background background = background_of(kit, one, reference, dialect);
    Evidence evidence{background.reference, dump.trace, background.model, background.segments};
    evidence.family = family_named(one.family);
    evidence.formulas = formulas_of_kind(one.config);
    report.diagnosis = diagnose(evidence, report.comparison, verdict);
    const Stage& expected = reference.at(verdict.name);
    ShownStage shown;
    shown.name = verdict.name;
    shown.expected = widened(expected);
    shown.found = widened(dump.trace.at(verdict.name));
    shown.axes = expected.axes;
    shown.tokens = tokens_of(verdict, expected.axes, background.segments);
    report.first = std::move(shown);
}

/// The waiver of a stage, if it holds today.
const Waiver* waiver_for(const CheckOptions& options, const std::string& id, const std::string& stage) {
    for (const Waiver& waiver : options.waivers)
        if (waiver.id == id && waiver.stage == stage && waiver.expires >= options.today) return &waiver;
    return nullptr;
}

/// The case with the stages of a reference, which another dialect may have more or fewer of.
KitCase with_stages_of(KitCase one, const Trace& reference) {
    if (one.stages == reference.names()) return one;
    KitCase other = case_of(reference);
    one.stages = std::move(other.stages);
    one.depends = std::move(other.depends);
    return one;
}

CaseReport empty_report(const KitCase& one) {
    CaseReport report;
    report.id = one.id;
    report.level = one.level;
    report.family = one.family;
    report.why = one.why;
    return report;
}

std::string common_dtype(const std::set<std::string>& dtypes) {
    return dtypes.size() > 1 ? "mixed" : dtypes.empty() ? "" : *dtypes.begin();
}

/// What is wrong with the waivers themselves.
void judge_waivers(const Kit& kit, const CheckOptions& options, Report& report) {
    for (const Waiver& waiver : options.waivers) {
        const std::string name = "waiver of " + waiver.stage + " in " + waiver.id;
        const KitCase* one = kit.find(waiver.id);
        if (!one || std::find(one->stages.begin(), one->stages.end(), waiver.stage) == one->stages.end()) {
            report.errors.push_back(name + ": the kit has no such " + (one ? "stage in this case" : "case"));
            continue;
        }
        if (waiver.expires < options.today) {
            report.errors.push_back(name + " expired on " + waiver.expires + ": " + waiver.reason);
            continue;
        }
        for (const CaseReport& judged : report.cases)
            for (const StageVerdict& stage : judged.comparison.stages)
                if (judged.id == waiver.id && stage.name == waiver.stage && stage.pass)
                    report.errors.push_back(name + " is no longer needed: the stage passes; remove it");
    }
}

}  // namespace

CaseReport check_case(const Kit& kit, const KitCase& recorded, const Dump& dump, const CheckOptions& options) {
    CaseReport report = empty_report(recorded);
    const Dialect dialect = options.dialect.value_or(recorded.dialect);
    const Trace reference = reference_under(kit, recorded, dialect);
    const KitCase one = with_stages_of(recorded, reference);
    inspect_dump(dump, one, reference, inputs_of(one));
    const auto whole_path = [](const std::filesystem::path& file) {
        return file.empty() ? "" : std::filesystem::absolute(file).lexically_normal().string();
    };
    if (dialect == recorded.dialect) report.reference_file = whole_path(recorded.folder / "reference.safetensors");
    report.candidate_file = whole_path(dump.file);
    const std::vector<std::string> names = reference.names();
    if (std::none_of(names.begin(), names.end(), [&](const std::string& name) { return dump.trace.find(name); })) {
        report.comparison.missing = names;
        return report;  // nothing was said about this case
    }
    report.comparison = compare_with(reference, dump, one.accuracy);
    report.verdict = Verdict::pass;
    if (report.comparison.pass()) return report;

    report.verdict = Verdict::waived;
    const StageVerdict* shown = nullptr;
    for (const std::string& name : first_wrong(one, report.comparison)) {
        const Waiver* waiver = waiver_for(options, one.id, name);
        if (waiver && report.waiver.empty()) report.waiver = waiver->reason;
        if (!waiver && report.verdict == Verdict::waived) shown = nullptr;
        if (!waiver) report.verdict = Verdict::fail;
        if (!shown) shown = &verdict_of(report.comparison, name);
    }
    if (report.verdict == Verdict::fail) report.waiver.clear();
    LOCUS_CHECK(shown, "kit: case " + one.id + " fails in a circle of stages");
    report.would_narrow = would_narrow(one, report.comparison, shown->name);
    explain(report, kit, one, reference, dump, *shown, dialect);
    return report;
}

CheckResult check_kit(const Kit& kit, const DumpOf& dump_of, const CheckOptions& options) {
    if (!options.family.empty()) family_named(options.family);
    CheckResult result;
    result.report.kit = kit.version;
    result.report.kit_hash = kit.hash;
    result.report.candidate = options.candidate;
    result.report.dialect = options.dialect ? to_string(*options.dialect) : "as recorded";
    std::set<std::string> dtypes;
    std::size_t dumps = 0;
    for (const KitCase& one : kit.cases) {
        if (!options.family.empty() && one.family != options.family) continue;
        CaseReport report = empty_report(one);
        try {
            if (const std::optional<Dump> dump = dump_of(one)) {
                ++dumps;
                for (const auto& [name, dtype] : dump->stored)
                    if (dtype.front() == 'F' || dtype.front() == 'B') dtypes.insert(dtype);
                report = check_case(kit, one, *dump, options);
            } else {
                report.comparison.missing = one.stages;
            }
        } catch (const PortHangs&) {
            throw;  // it would do so in every case
        } catch (const Error& error) {
            ++dumps;
            report.verdict = Verdict::fail;
            report.refusal = one.id + ": " + error.what();
            if (!result.refusal)
                result.refusal =
                    Error(error.fault() == Fault::usage ? Fault::unreadable : error.fault(), report.refusal);
        }
        result.report.cases.push_back(std::move(report));
    }
    if (dumps == 0)
        throw Error(Fault::unreadable, options.candidate + ": holds no dump of any case" +
                                           (options.family.empty() ? "" : " of " + options.family) +
                                           ", expected files like " + kit.cases.front().id + ".safetensors");
    const Counts counts = counts_of(result.report.cases);
    if (counts.not_reported == result.report.cases.size())
        throw Error(Fault::unreadable, options.candidate +
                                           ": its dumps hold no stage of their cases, expected such as " +
                                           kit.cases.front().stages.front() + " of " + kit.cases.front().id);
    result.report.dtype = common_dtype(dtypes);
    judge_waivers(kit, options, result.report);
    return result;
}

}  // namespace locus::conformance

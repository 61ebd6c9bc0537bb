#include "core/conformance/kit/check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <set>

#include "core/check.h"
#include "core/conformance/diagnosis/whole_pass.h"
#include "core/conformance/formulas/formulas.h"
#include "core/conformance/kit/case.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/kit/token_labels.h"
#include "core/io/input_file.h"
#include "core/json_text.h"
#include "core/stages.h"

namespace locus::conformance {

namespace {

const StageVerdict& verdict_of(const Comparison& comparison, const std::string& name) {
    return *std::find_if(comparison.stages.begin(), comparison.stages.end(),
                         [&](const StageVerdict& verdict) { return verdict.name == name; });
}

/// The case with the stages of a reference, which another dialect may have more or fewer of.
KitCase with_stages_of(KitCase one, const TraceView& reference) {
    if (one.stages == reference.names()) return one;
    KitCase other = case_of(reference);
    one.stages = std::move(other.stages);
    one.depends = std::move(other.depends);
    return one;
}

/// A case that fails, or holds more than it was asked for: what is known of it, and its stages with those that the
/// reference lacks, which are compared too.
struct Known {
    Background background;
    KitCase one;
    Evidence evidence;  // its reference is the background's: not to be moved
};

/// Stages of the dump that nothing was compared with; inputs of the case are none.
std::vector<std::string> not_compared(const Comparison& comparison, const Trace& inputs) {
    std::vector<std::string> names = comparison.unexpected;
    std::erase_if(names, [&](const std::string& name) { return inputs.find(name) != nullptr; });
    return names;
}

std::unique_ptr<Known> what_is_known(CaseReport& report, const Kit& kit, const KitCase& one, const Trace& reference,
                                     const Dump& dump, Dialect dialect, const CancelToken& stop) {
    auto found = std::make_unique<Known>(Known{background_of(kit, one, reference, dialect), one, {}});
    Evidence& evidence = found->evidence;
    evidence = {reference, dump.trace, found->background.model, found->background.segments};
    evidence.dialect = dialect;
    evidence.family = family_named(one.family);
    evidence.formulas = formulas_of_kind(one.config);
    if (const auto most = one.config.find("max_position"); most != one.config.end() && most->is_number_integer())
        evidence.max_position = most->get<Index>();
    evidence.given = given_to(one);
    evidence.stored = stored_as(dump.trace, report.rounded_to, dump.stored);
    evidence.stop = stop;
    if (const std::optional<TraceView> filled = filled_reference(evidence)) {
        for (const std::string& name : filled->names())
            if (!found->background.reference.find(name)) found->background.reference.add(*filled->at(name));
        found->one = with_stages_of(one, *filled);
        report.filled = filled->names().size() - reference.names().size();
        report.comparison = compare(*filled, dump.trace, std::nullopt, evidence.stored, {}, one.accuracy);
        report.comparison.unexpected = not_compared(report.comparison, inputs_of(one));
    }
    evidence.reference = found->background.reference;
    return found;
}

void explain(CaseReport& report, const Known& known, const StageVerdict& verdict) {
    const Evidence& evidence = known.evidence;
    report.all = diagnose_all(evidence, report.comparison, verdict, known.one.depends);
    report.diagnosis = report.all->stages.front().diagnosis;
    const auto expected = evidence.reference.at(verdict.name);
    ShownStage shown;
    shown.name = verdict.name;
    shown.expected = widened(*expected);
    shown.found = widened(*evidence.candidate.at(verdict.name));
    shown.axes = expected->axes;
    name_tokens(shown, verdict, evidence.segments, evidence.model ? evidence.model->folder() : "");
    report.first = std::move(shown);
}

/// The waiver of a stage, if it holds today.
const Waiver* waiver_for(const CheckOptions& options, const std::string& id, const std::string& stage) {
    for (const Waiver& waiver : options.waivers)
        if (waiver.id == id && waiver.stage == stage && waiver.expires >= options.today) return &waiver;
    return nullptr;
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
    report.rounded_to = narrower_dtype(dump.trace, dump.stored);
    report.comparison = compare(reference, dump.trace, std::nullopt,
                                stored_as(dump.trace, report.rounded_to, dump.stored), {}, one.accuracy);
    report.comparison.unexpected = not_compared(report.comparison, inputs_of(one));
    report.verdict = Verdict::pass;
    const bool as_asked = report.comparison.pass();
    if (as_asked && report.comparison.unexpected.empty()) return report;
    const Comparison asked = report.comparison;
    const auto known = what_is_known(report, kit, one, reference, dump, dialect, options.stop);
    if (report.comparison.pass()) return report;

    report.verdict = Verdict::waived;
    std::string shown;
    // What the case did not ask for is judged only where all else is right: no waiver speaks of it.
    for (const std::string& name : as_asked ? first_wrong(known->one, report.comparison) : first_wrong(one, asked)) {
        const Waiver* waiver = waiver_for(options, one.id, name);
        if (waiver && report.waiver.empty()) report.waiver = waiver->reason;
        if (!waiver && report.verdict == Verdict::waived) shown.clear();
        if (!waiver) report.verdict = Verdict::fail;
        if (shown.empty()) shown = name;
    }
    if (report.verdict == Verdict::fail) report.waiver.clear();
    LOCUS_CHECK(!shown.empty(), "kit: case " + one.id + " fails in a circle of stages");
    if (report.filled > 0)  // a stage before it may show now
        for (const std::string& name : first_wrong(known->one, report.comparison)) {
            if (waiver_for(options, one.id, name)) continue;
            shown = name;
            break;
        }
    explain(report, *known, verdict_of(report.comparison, shown));
    if (report.all->stages.front().saved.empty())  // else more stages would say no more
        report.would_narrow = would_narrow(known->one, report.comparison, shown);
    return report;
}

namespace {

/// The dialect under which a case passes that fails in the one asked for; "" if there is none.  Then the port follows
/// another program, and has no mistake.
std::string dialect_that_passes(const Kit& kit, const KitCase& one, const Dump& dump, const CheckOptions& options) {
    const Dialect asked = options.dialect.value_or(one.dialect);
    const auto verdict_under = [&](Dialect dialect) {
        const Trace reference = reference_under(kit, one, dialect);
        const std::string rounded_to = narrower_dtype(dump.trace, dump.stored);
        return compare(reference, dump.trace, std::nullopt, stored_as(dump.trace, rounded_to, dump.stored), {},
                       one.accuracy);
    };
    const std::size_t compared = verdict_under(asked).stages.size();
    for (const Dialect other : {Dialect::official, Dialect::hf, Dialect::reference, Dialect::paper}) {
        if (other == asked) continue;
        throw_if_cancelled(options.stop);
        try {
            const Comparison comparison = verdict_under(other);
            if (comparison.pass() && comparison.stages.size() == compared) return to_string(other);
        } catch (const Error&) {  // a case that this dialect does not have
        }
    }
    return "";
}

}  // namespace

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
        throw_if_cancelled(options.stop);
        if (!options.family.empty() && one.family != options.family) continue;
        CaseReport report = empty_report(one);
        try {
            if (const std::optional<Dump> dump = dump_of(one)) {
                ++dumps;
                report = check_case(kit, one, *dump, options);
                if (report.verdict == Verdict::fail) report.passes_as = dialect_that_passes(kit, one, *dump, options);
                const bool halves = report.rounded_to == "F16" || report.rounded_to == "BF16";
                for (const auto& [name, dtype] : dump->stored)
                    if (dtype.front() == 'F' || dtype.front() == 'B')
                        dtypes.insert(halves ? report.rounded_to + " in " + dtype : dtype);
            } else {
                report.comparison.missing = one.stages;
            }
        } catch (const Error& error) {
            // A port that does not run in the first case would do so in every one.
            if (dumps == 0 && dynamic_cast<const PortDoesNotRun*>(&error)) throw;
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

// Names and axes of a dump, before any value is judged.

namespace {

/// max |found - expected| over both ways to write the same values; infinity for anything that is not a number.
double distance_under(const Stage& expected, const Stage& found, const std::vector<std::size_t>& order) {
    const Shape& sizes = found.shape();
    std::vector<Index> strides(order.size(), 1), place(order.size(), 0);
    for (std::size_t axis = order.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * expected.shape()[axis];
    double worst = 0;
    for (Index n = 0; n < found.size(); ++n) {
        Index flat = 0;
        for (std::size_t axis = 0; axis < order.size(); ++axis) flat += place[axis] * strides[order[axis]];
        const double difference = std::abs(found.at(n) - expected.at(flat));
        if (!(difference <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, difference);
        for (std::size_t axis = order.size(); axis-- > 0;) {
            if (++place[axis] < sizes[axis]) break;
            place[axis] = 0;
        }
    }
    return worst;
}

std::string letters(const std::vector<std::string>& axes, const std::vector<std::size_t>& order) {
    std::string text;
    for (const std::size_t axis : order)
        text += (text.empty() ? "" : " ") + (axis < axes.size() ? axes[axis] : "axis " + std::to_string(axis));
    return text;
}

/// The same values in the same places of memory, under sizes written fastest axis first.
bool is_reversed_shape(const Stage& expected, const Stage& found) {
    const Shape reversed(expected.shape().rbegin(), expected.shape().rend());
    if (found.shape() != reversed || found.shape() == expected.shape()) return false;
    double worst = 0, size = 1;
    for (Index n = 0; n < found.size(); ++n) {
        const double difference = std::abs(found.at(n) - expected.at(n));
        if (std::isnan(difference)) return false;
        worst = std::max(worst, difference);
        size = std::max(size, std::abs(expected.at(n)));
    }
    return worst <= 0.05 * size;
}

void inspect_axes(const Stage& expected, const Stage& found) {
    if (found.shape() == expected.shape() || found.size() != expected.size()) return;
    const std::string both = "stage " + found.name + " has the shape " + to_string(found.shape()) + " instead of " +
                             to_string(expected.shape());
    if (is_reversed_shape(expected, found))
        throw Error(Fault::unsupported,
                    both + ": the values are in order, but the sizes are written as ggml does, fastest axis first");
    const std::vector<std::size_t> order = axes_exchanged(expected, found);
    if (order.empty()) return;
    std::vector<std::size_t> right(order.size());
    std::iota(right.begin(), right.end(), std::size_t{0});
    throw Error(Fault::unsupported, both + ": its axes stand in the order " + letters(expected.axes, order) +
                                        ", expected " + letters(expected.axes, right));
}

/// A gradient of no stage, in a case that lists the gradients of its parameters, and not that one.
bool is_strange_gradient(const std::string& name, const Trace& reference) {
    if (!name.starts_with("grad.") || !describe_stage(name)->axes.empty()) return false;
    const std::vector<std::string> names = reference.names();
    return std::any_of(names.begin(), names.end(), [](const std::string& known) { return known.starts_with("grad."); });
}

}  // namespace

std::vector<std::size_t> axes_exchanged(const Stage& expected, const Stage& found) {
    const Shape& wanted = expected.shape();
    if (found.shape().size() != wanted.size() || wanted.size() > 6 || found.shape() == wanted) return {};
    std::vector<std::size_t> order(wanted.size()), best;
    std::iota(order.begin(), order.end(), std::size_t{0});
    double least = std::numeric_limits<double>::infinity();
    do {
        bool fits = true;
        for (std::size_t axis = 0; axis < order.size(); ++axis)
            fits = fits && found.shape()[axis] == wanted[order[axis]];
        if (!fits) continue;
        const double distance = distance_under(expected, found, order);
        if (best.empty() || distance < least) {
            best = order;
            least = distance;
        }
    } while (std::next_permutation(order.begin(), order.end()));
    return best;
}

void inspect_dump(const Dump& dump, const KitCase& one, const Trace& reference, const Trace& inputs) {
    const auto short_name = [](const std::string& name) {
        return "\"" + printable(name.substr(0, 80)) + (name.size() > 80 ? "...\"" : "\"");
    };
    std::vector<std::string> unknown;
    for (const Stage& stage : dump.trace.stages()) {
        if (const Stage* expected = reference.find(stage.name))
            inspect_axes(*expected, stage);
        else if (!inputs.find(stage.name) &&
                 (!describe_stage(stage.name) || is_strange_gradient(stage.name, reference)))
            unknown.push_back(stage.name);
    }
    if (unknown.empty()) return;
    constexpr std::size_t kMost = 4;
    std::string others;
    for (std::size_t n = 1; n < std::min(kMost, unknown.size()); ++n)
        others += (n == 1 ? "; unknown too: " : ", ") + short_name(unknown[n]);
    if (unknown.size() > kMost) others += ", ... (" + std::to_string(unknown.size()) + " in all)";
    throw Error(Fault::unsupported, "stage " + short_name(unknown.front()) + " is unknown; the nearest name of case " +
                                        one.id + " is " + nearest(unknown.front(), reference.names()) + others);
}

// Waivers.

namespace {

std::string text_of(const nlohmann::json& entry, const char* field, const std::string& where) {
    if (!entry.is_object() || !entry.contains(field) || !entry[field].is_string() ||
        entry[field].get<std::string>().empty())
        throw Error(Fault::unreadable,
                    where + " has no \"" + field + "\", expected id, stage, reason and expires, each a text");
    return entry[field].get<std::string>();
}

bool is_day(const std::string& text) {
    static const std::regex pattern("[0-9]{4}-[0-9]{2}-[0-9]{2}");
    if (!std::regex_match(text, pattern)) return false;
    const std::chrono::year_month_day day{std::chrono::year(std::stoi(text.substr(0, 4))),
                                          std::chrono::month(static_cast<unsigned>(std::stoi(text.substr(5, 2)))),
                                          std::chrono::day(static_cast<unsigned>(std::stoi(text.substr(8, 2))))};
    return day.ok();
}

}  // namespace

std::vector<Waiver> read_waivers(const std::filesystem::path& file) {
    const MappedFile mapped(file);
    const std::string name = printable(file.string());
    // The list is wrapped, so that the checks for duplicate keys and deep nesting see it.
    const std::string text(reinterpret_cast<const char*>(mapped.data()), mapped.size());
    const nlohmann::json parsed = parse_json_object("{\"waivers\":" + text + "}", file.string());
    if (parsed.size() != 1 || !parsed["waivers"].is_array())
        throw Error(Fault::unreadable,
                    name + ": is no list of waivers, expected [{\"id\", \"stage\", \"reason\", \"expires\"}]");
    std::vector<Waiver> waivers;
    for (const nlohmann::json& entry : parsed["waivers"]) {
        const std::string where = name + ": waiver " + std::to_string(waivers.size() + 1);
        Waiver waiver{text_of(entry, "id", where), text_of(entry, "stage", where), text_of(entry, "reason", where),
                      text_of(entry, "expires", where)};
        if (!is_day(waiver.expires))
            throw Error(Fault::unreadable,
                        where + " expires on \"" + printable(waiver.expires) + "\", expected a day like 2027-01-31");
        waivers.push_back(std::move(waiver));
    }
    return waivers;
}

std::string today() {
    const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", int{day.year()}, unsigned{day.month()}, unsigned{day.day()});
    return text;
}

}  // namespace locus::conformance

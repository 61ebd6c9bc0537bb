// locus check: does a candidate hold the same stages as a reference, and if not, which mistake is it?
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/cli/program.h"
#include "core/conformance/diagnosis/diagnosis.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/report/report.h"
#include "core/io/atomic_file.h"
#include "core/io/input_file.h"
#include "core/io/model_request.h"
#include "core/io/safetensors.h"
#include "core/text/text_table.h"

namespace {

using namespace locus;
using namespace locus::conformance;
using Json = nlohmann::ordered_json;

struct Options {
    std::string reference_file, candidate_file, model, input, junit, html;
    std::optional<double> rtol, atol;
    std::optional<int> explain;
    bool json = false, catalogue = false;
};

/// What the pass was given, where the user says so.
std::vector<ModelInput> segments_of(const std::string& file, const ModelFolder& model) {
    if (file.empty()) return {};
    ModelRequest request;
    request.input_file = file;
    const auto names = open_model<double>(model.config_json, model.location, model.source)->input_names();
    return prepare_input(request, std::filesystem::path(model.location).parent_path(), model.family, names).segments;
}

/// The first stage that fails while what it depends on passes.
const StageVerdict& first_of(const KitCase& stages, const Comparison& comparison) {
    const std::vector<std::string> wrong = first_wrong(stages, comparison);
    for (const StageVerdict& verdict : comparison.stages)
        if (!wrong.empty() && verdict.name == wrong.front()) return verdict;
    return *comparison.first();
}

/// A candidate of which no stage can be compared is a mistake in its names, not in its numbers.
void require_common_stage(const Options& options, const Trace& reference, const Trace& candidate) {
    const std::vector<std::string> known = reference.names(), found = candidate.names();
    if (std::any_of(found.begin(), found.end(), [&](const std::string& name) { return reference.find(name); })) return;
    std::string sentence =
        printable(options.candidate_file) + " and " + printable(options.reference_file) + " have no stage in common";
    if (!known.empty() && !found.empty())
        sentence += "; the nearest to \"" + printable(found.front().substr(0, 80)) + "\" is " +
                    printable(nearest(found.front(), known));
    throw Error(Fault::usage, sentence);
}

Report judge(const Options& options, const std::optional<Tolerance>& fixed) {
    std::map<std::string, std::string> stored;
    const Trace reference = read_trace(options.reference_file);
    const Trace candidate = read_trace(options.candidate_file, &stored);
    require_common_stage(options, reference, candidate);
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
    if (!options.model.empty()) {
        model = ModelFolder::open(resolve_model(options.model).string());
        segments = segments_of(options.input, *model);
    }
    CaseReport one;
    one.id = options.candidate_file;
    one.reference_file = std::filesystem::absolute(options.reference_file).lexically_normal().string();
    one.candidate_file = std::filesystem::absolute(options.candidate_file).lexically_normal().string();
    one.comparison = compare(reference, candidate, fixed, stored);
    one.verdict = one.comparison.pass() ? Verdict::pass : Verdict::fail;
    if (one.verdict == Verdict::fail) {
        const KitCase stages = case_of(reference);
        const StageVerdict* first = &first_of(stages, one.comparison);
        const Evidence evidence{reference, candidate, model, segments};
        one.diagnosis = diagnose(evidence, one.comparison, *first);
        one.would_narrow = would_narrow(stages, one.comparison, first->name);
        one.would_learn = would_learn(evidence, *first, *one.diagnosis);
        one.first = ShownStage{first->name,
                               widened(reference.at(first->name)),
                               widened(candidate.at(first->name)),
                               reference.at(first->name).axes,
                               {}};
    }
    Report report;
    report.candidate = options.candidate_file;
    report.cases.push_back(std::move(one));
    return report;
}

std::string as_json(const CaseReport& one, const std::optional<Tolerance>& fixed) {
    Json json = case_json(one);
    json["tolerance"] = {{"derived", !fixed}};
    if (fixed) json["tolerance"].update({{"rtol", fixed->relative}, {"atol", fixed->absolute}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const CaseReport& one, const std::optional<Tolerance>& fixed) {
    const Comparison& comparison = one.comparison;
    std::string text = fixed ? "tolerance: rtol " + format_number(fixed->relative) + ", atol " +
                                   format_number(fixed->absolute) + ", the same for every stage\n"
                             : "tolerance: derived from dtype and reduction length, stage by stage\n";
    std::vector<std::vector<std::string>> rows = {{"stage", "max difference", "allowed", "verdict"}};
    for (const StageVerdict& verdict : comparison.stages)
        rows.push_back({verdict.name, verdict.worst >= 0 ? format_number(verdict.max_difference) : "-",
                        format_number(verdict.allowed), verdict.pass ? "ok" : "WRONG: " + verdict.reason});
    text += text_table(rows, {false, true, true, false});
    if (!comparison.missing.empty())
        text += std::to_string(comparison.missing.size()) + " stages of the reference not reported\n";
    if (!comparison.unexpected.empty())
        text += std::to_string(comparison.unexpected.size()) + " stages not in the reference\n";
    if (comparison.pass())
        return text + "pass: " + std::to_string(comparison.stages.size()) + " stages inside the tolerance\n";
    return text + divergence_text(one);
}

std::string explained(const Mistake& mistake) {
    std::string text = "mistake " + std::to_string(mistake.number) + ": " + mistake.name + "\n";
    const auto line = [&](const char* label, const std::string& words) {
        if (!words.empty()) text += std::string("  ") + label + words + "\n";
    };
    line("what you see   ", mistake.symptom);
    line("recognised by  ", mistake.betrays);
    std::string stages, ways;
    for (const std::string& stem : mistake.stems)
        stages += (stages.empty() ? "" : ", ") + (stem[0] == '/' ? stem.substr(1) : stem);
    for (const Variant& variant : mistake.variants)
        if (!variant.how.empty()) ways += (ways.empty() ? "" : "; ") + variant.how;
    line("first wrong    ", stages);
    line("ways           ", ways);
    line("it happened    ", mistake.evidence);
    if (!mistake.lesson.empty()) line("read           locus lesson ", std::to_string(std::stoi(mistake.lesson)));
    return text;
}

int run(const Options& options) {
    if (options.catalogue) {
        LOCUS_CHECK(options.reference_file.empty() && !options.explain,
                    "--catalogue goes alone, found a reference or --explain beside it");
        std::cout << (options.json ? catalogue_json() : catalogue_text());
        return 0;
    }
    if (options.explain) {
        LOCUS_CHECK(options.reference_file.empty(), "--explain goes alone, found a reference beside it");
        std::cout << explained(mistake_of(*options.explain));
        return 0;
    }
    LOCUS_CHECK(!options.reference_file.empty() && !options.candidate_file.empty(),
                "expected two files, a reference and a candidate");
    LOCUS_CHECK(options.input.empty() || !options.model.empty(), "--input goes with --model");
    std::optional<Tolerance> fixed;
    if (options.rtol || options.atol) fixed = Tolerance{options.rtol.value_or(0), options.atol.value_or(0)};
    const Report report = judge(options, fixed);
    if (!options.junit.empty()) write_atomic_file(options.junit, report_junit(report));
    if (!options.html.empty()) write_atomic_file(options.html, report_html(report));
    const CaseReport& one = report.cases.front();
    std::cout << (options.json ? as_json(one, fixed) : as_text(one, fixed));
    return report.pass() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Compares two traces stage by stage, and names the mistake behind the first that is wrong although what it is\n"
        "made of is right.\n"
        "  locus check reference.safetensors candidate.safetensors --model DIR\n"
        "  locus check --explain 16\n"
        "  locus check --catalogue\n"
        "A value passes if |found - expected| <= atol + rtol * max |expected| of its stage.  Without --rtol and "
        "--atol\n"
        "the bound is what rounding explains: 2 eps (4 + sqrt n), eps of the coarser dtype, n the length of all sums "
        "up\n"
        "to the stage; in F16 and BF16 n is 16 per layer, as sums are added up in single precision.  The candidate "
        "may\n"
        "hold any of the stages, at least one.  NaN, wrong shape and wrong dtype never pass.\n"
        "Exit status: 0 inside, 1 mismatch, 2 wrong usage or nothing in common, 3 unreadable, 4 unsupported.",
        "locus check");
    Options options;
    app.add_option("reference", options.reference_file, "what is right");
    app.add_option("candidate", options.candidate_file, "what is to be judged");
    app.add_option("--model", options.model, "the model folder: its weights explain more stages")
        ->check(cli::not_empty());
    app.add_option("--input", options.input, "what the model was given: tokens and masks, as in locus trace --input")
        ->check(cli::not_empty());
    app.add_option("--rtol", options.rtol, "relative to the largest value of the stage")->check(CLI::NonNegativeNumber);
    app.add_option("--atol", options.atol, "absolute")->check(CLI::NonNegativeNumber);
    app.add_option("--explain", options.explain, "print mistake N of the catalogue")->type_name("N");
    app.add_flag("--catalogue", options.catalogue,
                 "list the catalogue of mistakes; with --json all that is known of each");
    app.add_option("--junit", options.junit, "write JUnit XML")->check(cli::not_empty());
    app.add_option("--html", options.html, "write one page with pictures")->check(cli::not_empty());
    app.add_flag("--json", options.json, "print JSON");
    return cli::run_program(app, argc, argv, [&] { return run(options); });
}

// locus check: does a candidate hold the same stages as a reference, and if not, which mistake is it?
#include <chrono>
#include <iostream>
#include <optional>

#include "core/cli/program.h"
#include "core/conformance/kit/case.h"
#include "core/conformance/kit/found_inputs.h"
#include "core/conformance/kit/pair.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/report/report.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"
#include "core/io/write_target.h"

namespace {

using namespace locus;
using namespace locus::conformance;

struct Options {
    std::string reference_file, candidate_file, model, input, junit, html;
    std::optional<double> rtol, atol;
    std::optional<int> explain;
    bool json = false, catalogue = false;
};

/// Says on stderr how far a check is that takes longer than a second, and the first wrong stage before all others are
/// compared.
class Progress {
public:
    explicit Progress(const cli::Command& program) : program_(program) {}

    void compared(const StageVerdict& verdict) {
        if (!verdict.pass && first_.empty()) first_ = verdict.name;
        if (!first_.empty()) say_after(1, "the first wrong stage is " + first_ + "; comparing the others");
    }
    void searched() {
        if (!in_passes_) say_after(10, "looking for the mistake behind it");
    }
    void passes_done(std::size_t done, std::size_t of) {
        in_passes_ = true;
        say_after(10, "looking for the mistake behind it: made in a whole pass " + std::to_string(done) + " of " +
                          std::to_string(of) + " ways");
    }

private:
    void say_after(double seconds, const std::string& sentence) {
        const auto now = std::chrono::steady_clock::now();
        if (sentence == said_ || std::chrono::duration<double>(now - since_).count() < seconds) return;
        cli::say(program_, sentence);
        since_ = now;
        said_ = sentence;
    }

    const cli::Command& program_;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    std::string first_, said_;
    bool in_passes_ = false;
};

/// What the user names must belong to the reference: else nothing would be explained, and nobody would know why.
void check_fits(const Options& options, TracePair& pair) {
    if (const std::string other = other_family(pair.reference, *pair.model); !other.empty())
        throw Error(Fault::unreadable, options.model + ": " + other + "; expected the model of the reference");
    if (options.input.empty()) return;
    if (const std::string reason = contradiction(pair.reference, pair.model, pair.segments, pair.dialect);
        !reason.empty())
        throw Error(Fault::unreadable, options.input + ": " + reason + "; expected what the reference was given");
}

Report judge(const Options& options, const std::optional<Tolerance>& fixed, const cli::Command& program) {
    Progress progress(program);
    TracePair pair;
    pair.compared = [&](const StageVerdict& verdict) { progress.compared(verdict); };
    pair.stop = [&] {
        progress.searched();
        return false;
    };
    pair.passes_done = [&](std::size_t done, std::size_t of) { progress.passes_done(done, of); };
    pair.reference = open_trace(options.reference_file);
    pair.candidate = open_trace(options.candidate_file, &pair.stored);
    pair.reference_name = options.reference_file;
    pair.candidate_name = options.candidate_file;
    pair.fixed = fixed;
    pair.accuracy = accuracy_beside(options.reference_file);
    pair.dialect = dialect_said(options.reference_file);
    pair.recorded = recorded_tokens(options.reference_file, options.candidate_file);
    FoundInputs found;
    if (!options.model.empty()) {
        pair.model = ModelFolder::open(resolve_model(options.model).string());
        if (options.input.empty())
            found =
                find_inputs(options.reference_file, options.candidate_file, pair.reference, pair.model, pair.dialect);
        pair.segments = options.input.empty() ? found.segments : segments_of(options.input, *pair.model);
        check_fits(options, pair);
    } else {
        pair.says_inputs = says_inputs(options.reference_file, options.candidate_file, pair.reference);
    }
    // The verdicts are printed as soon as they are known: the search for the mistake may take seconds.
    CaseReport one = judge_pair(pair, [&](const CaseReport& so_far) {
        if (!options.json) std::cout << pair_verdicts(so_far, fixed) << std::flush;
    });
    one.inputs = options.input.empty() ? found.where : options.input;
    one.other_inputs = found.not_used;
    one.reference_file = std::filesystem::absolute(options.reference_file).lexically_normal().string();
    one.candidate_file = std::filesystem::absolute(options.candidate_file).lexically_normal().string();
    Report report;
    report.candidate = options.candidate_file;
    report.cases.push_back(std::move(one));
    return report;
}

std::string explained(const Mistake& mistake) {
    std::string text = "mistake " + std::to_string(mistake.number) + ": " + mistake.name + "\n";
    const auto line = [&](const char* label, const std::string& words) {
        if (!words.empty()) text += std::string("  ") + label + words + "\n";
    };
    line("what you see   ", mistake.symptom);
    line("recognised by  ", mistake.betrays);
    std::string stages, ways;
    for (const std::string& stage : first_wrong_stages(mistake)) stages += (stages.empty() ? "" : ", ") + stage;
    for (std::size_t way = 0; way < mistake.variants.size(); ++way)
        if (const std::string& how = mistake.variants[way].how; !how.empty())
            ways +=
                (ways.empty() ? "" : "; ") + std::to_string(mistake.number) + "." + std::to_string(way + 1) + " " + how;
    line("first wrong    ", stages);
    line("made as        ", ways);
    line("it happened    ", mistake.evidence);
    if (!mistake.lesson.empty()) line("read           locus lesson ", std::to_string(std::stoi(mistake.lesson)));
    return text;
}

int run(const Options& options, const cli::Command& program) {
    const bool no_page = options.html.empty() && options.junit.empty();
    if (options.catalogue) {
        LOCUS_CHECK(options.reference_file.empty() && !options.explain && no_page,
                    "--catalogue goes alone or with --json, found a reference, --explain, --html or --junit beside it");
        std::cout << (options.json ? catalogue_json() : catalogue_text());
        return 0;
    }
    if (options.explain) {
        LOCUS_CHECK(options.reference_file.empty() && no_page && !options.json,
                    "--explain goes alone, found a reference, --json, --html or --junit beside it; --catalogue --json "
                    "prints all that is known of each mistake");
        std::cout << explained(mistake_of(*options.explain));
        return 0;
    }
    LOCUS_CHECK(!options.reference_file.empty() && !options.candidate_file.empty(),
                "expected two files, a reference and a candidate");
    LOCUS_CHECK(options.input.empty() || !options.model.empty(), "--input goes with --model");
    check_apart({options.junit, options.html}, {options.reference_file, options.candidate_file, options.input});
    std::optional<Tolerance> fixed;
    if (options.rtol || options.atol) fixed = Tolerance{options.rtol.value_or(0), options.atol.value_or(0)};
    const Report report = judge(options, fixed, program);
    if (!options.junit.empty()) write_atomic_file(options.junit, report_junit(report));
    if (!options.html.empty()) write_atomic_file(options.html, report_html(report));
    const CaseReport& one = report.cases.front();
    std::cout << (options.json ? pair_json(one, fixed) : explanation_text(one));
    return report.pass() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    keep_freed_memory();
    cli::Command program(
        "Compares two traces stage by stage, and names the mistake behind the first that is wrong although what it is\n"
        "made of is right.\n"
        "  locus check reference.safetensors candidate.safetensors --model DIR\n"
        "  locus check --explain 16\n"
        "  locus check --catalogue\n"
        "A value passes if |found - expected| <= atol + rtol * max |expected| of its stage.  Without --rtol and "
        "--atol\n"
        "both are what rounding explains: 2 eps (4 + sqrt n), eps of the coarser dtype, n the length of all sums up "
        "to\n"
        "the stage; in F16 and BF16 n is 16 per layer, as sums are added up in single precision; or how exact the\n"
        "reference is where the case.json of a kit beside it says more.  Numbers that are all halves, bfloat16 or\n"
        "float32 are judged as that, whatever they are stored in.  A reference in double whose own stages show that\n"
        "its code took angles or a scale in float32, as transformers' and Microsoft's do, is taken to be exact to\n"
        "1e-6, and so is a candidate whose table of angles is off by no more.  The candidate may hold any of the\n"
        "stages, at least one.  NaN, wrong shape and wrong dtype never pass.\n"
        "Exit status: 0 inside, 1 mismatch, 2 wrong usage or nothing in common, 3 unreadable, 4 unsupported.",
        "locus check");
    Options options;
    program.option("reference", options.reference_file, "what is right");
    program.option("candidate", options.candidate_file, "what is to be judged");
    program.option("--model", options.model, "the model folder: its weights explain more stages").not_empty();
    program
        .option(
            "--input", options.input,
            "what the model was given: tokens and masks, as in locus trace --input; without it what the traces say\n"
            "themselves (metadata \"inputs\"), or inputs.safetensors beside the reference")
        .not_empty();
    program.option("--rtol", options.rtol, "relative to the largest value of the stage").not_negative();
    program.option("--atol", options.atol, "absolute").not_negative();
    program.option("--explain", options.explain, "print mistake N of the catalogue").value_name("N");
    program.flag("--catalogue", options.catalogue,
                 "list the catalogue of mistakes; with --json all that is known of each");
    program.option("--junit", options.junit, "write JUnit XML").not_empty();
    program.option("--html", options.html, "write one page with pictures").not_empty();
    program.flag("--json", options.json, "print JSON");
    return cli::run_program(program, argc, argv, [&] { return run(options, program); });
}

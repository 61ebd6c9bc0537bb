#pragma once
// What `locus kit check` and `locus check` found out, before it is printed.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/conformance/diagnosis/all_mistakes.h"

namespace locus::conformance {

enum class Verdict { pass, fail, not_reported, waived };
/// "pass", "fail", "not reported", "waived", as reports for programs spell it.
const char* verdict_name(Verdict verdict);

/// The stage that the report shows in full: two pictures and their difference.
struct ShownStage {
    std::string name;
    Tensor<double> expected, found;
    std::vector<std::string> axes;
    std::vector<std::string> tokens;  // for the axes of tokens, of the worst cell's sample; may be empty
    bool in_words = false;            // these are pieces of a tokenizer, not ids
};

/// One case of the kit, or one pair of files.
struct CaseReport {
    std::string id;     // "L1/p2c_t6_k3"; the candidate's file name for a pair of files
    std::string level;  // "L0" ... "L3"; empty for a pair of files
    std::string family;
    std::string why;  // one sentence
    Verdict verdict = Verdict::not_reported;
    std::string refusal;  // one sentence where the dump could not be read
    Comparison comparison;
    std::string rounded_to;     // "BF16": what all numbers of the candidate are, although they were stored as more
    double accuracy = 0;        // of the reference or the candidate, of a pair of files
    std::string accuracy_said;  // one clause: what is exact to `accuracy`, and how that is known
    std::size_t filled = 0;     // stages that the reference lacks and that were compared with the model's own pass
    std::optional<Diagnosis> diagnosis;     // of the first wrong stage
    std::optional<AllMistakes> all;         // of every stage that is wrong by itself, that one first
    std::string inputs;                     // where tokens and masks were found; empty where nobody passed or found any
    std::string other_inputs;               // one clause: what was found and is not used, and why
    std::optional<ShownStage> first;        // the first stage that fails while what it depends on passes, waivers aside
    std::vector<std::string> would_narrow;  // stages not reported that would narrow the mistake down most, best first
    std::string passes_as;    // the dialect in which a case of the kit would pass: "official"; empty if none
    std::string would_learn;  // one sentence: what to pass so that more mistakes can be judged; empty if nothing
    std::string waiver;       // its reason, where there is one
    /// Absolute paths of what was compared; empty where it lay in no single file (recomputed, .npy, a program's
    /// stream).
    std::string reference_file, candidate_file;

    /// The verdict on `first`: what every printer shows, whatever else fails.  nullptr where there is none.
    const StageVerdict* wrong() const;
};

/// How many cases came to what.
struct Counts {
    std::size_t passed = 0, failed = 0, waived = 0, not_reported = 0;
    /// "5 passed, 1 failed, 86 not reported"; waived and not reported only where there are some.
    std::string text() const;
};
Counts counts_of(const std::vector<CaseReport>& cases);

struct Report {
    std::string kit;        // "1.0", empty for a pair of files
    std::string kit_hash;   // of kit.json
    std::string candidate;  // folder or file
    std::string dialect;
    std::string dtype;  // of the dumps, "F32"; "F16 in F32" if all numbers are halves; "mixed" if they differ
    std::vector<CaseReport> cases;
    std::vector<std::string> errors;  // waivers that no longer fail, and their like

    /// No case fails and there are no errors.
    bool pass() const;
};

// A report as people and programs read it.

/// For a terminal: levels, then the first divergence of every failing case, its diagnosis, and what to do next.
std::string report_text(const Report& report, bool colour);
/// {"format": "locus-report", "version": "1.0", "pass", "cases": [...]}; schema/report.json of the kit.
std::string report_json(const Report& report);
/// JUnit XML: one test case per case of the kit.
std::string report_junit(const Report& report);
/// One page without scripts or network: the tree of cases, and expected, found and difference of each first wrong
/// stage as pictures whose cells tell their value.
std::string report_html(const Report& report);

/// Text as HTML and XML want it: UTF-8 without control characters, signs of markup escaped.
std::string markup(const std::string& text);

/// What report_json says of one case; `locus check --json` prints the same for a pair of files.
nlohmann::ordered_json case_json(const CaseReport& report);
/// The lines of report_text about one failing case: the first wrong stage, and what is known of it.
std::string divergence_text(const CaseReport& report);
/// The first part of them, which needs no diagnosis; empty where nothing is wrong.
std::string first_wrong_text(const CaseReport& report);
/// One line where a stage is held to what the report says its two sides are exact to, instead of what rounding
/// explains.
std::string accuracy_text(const CaseReport& report);
/// A line where all numbers are less exact than their dtype; empty elsewhere.
std::string rounded_text(const CaseReport& report);
/// A line that names the first of so many stages that are judged loosely; empty where there are none.
std::string loose_text(const std::vector<std::string>& loose, std::size_t stages);

/// One line that says how many stages are not the reference's own; empty where all are.
std::string filled_text(const CaseReport& report);
/// The other part: which mistakes are behind it, and what more a port could report.
std::string explanation_text(const CaseReport& report);

/// How far apart two tensors of one shape are, beside the largest difference.
struct Distance {
    double cosine = 0;       // of all values as one vector; NaN if one of them is zero or not finite
    double largest_ulp = 0;  // most steps of float32 between two values
    Index outside_diagonal = 0, on_diagonal = 0;  // wrong cells of a [..., T, T] stage; 0 elsewhere
};
Distance distance_of(const ShownStage& stage, double allowed);

}  // namespace locus::conformance

#pragma once
// What `locus kit check` and `locus check` found out, before anybody prints it.
#include <optional>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

enum class Verdict { pass, fail, not_reported, waived };

/// The stage that the report shows in full: two pictures and their difference.
struct ShownStage {
    std::string name;
    Tensor<double> expected, found;
    std::vector<std::string> axes;
    std::vector<std::string> tokens;  // for the axes of tokens; may be empty
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
    std::optional<Diagnosis> diagnosis;     // of the first wrong stage
    std::optional<ShownStage> first;        // the first stage that fails while what it depends on passes, waivers aside
    std::vector<std::string> would_narrow;  // stages not reported that would narrow the mistake down most, best first
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
    /// "5 passed, 1 failed, 86 not reported"; what nobody would miss is left out.
    std::string text() const;
};
Counts counts_of(const std::vector<CaseReport>& cases);

struct Report {
    std::string kit;        // "1.0", empty for a pair of files
    std::string kit_hash;   // of kit.json
    std::string candidate;  // folder or file
    std::string dialect;
    std::string dtype;  // of the dumps, "F32"; "mixed" if they differ
    std::vector<CaseReport> cases;
    std::vector<std::string> errors;  // waivers that no longer fail, and their like

    /// No case fails and there are no errors.
    bool pass() const;
};

}  // namespace locus::conformance

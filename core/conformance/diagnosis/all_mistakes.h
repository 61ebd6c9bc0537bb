#pragma once
// Several mistakes in one candidate: every stage that is wrong by itself, not because of what it is made of.
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

/// A stage that does not follow by the right formula from what the candidate itself reports.
struct WrongStage {
    std::string stage;
    Diagnosis diagnosis;            // what is known of it alone; a name as diagnose() gives one
    std::vector<Explanation> pair;  // two mistakes that explain it together where none does alone; else empty
    std::string first_at;  // where the same mistake was named, or the same was said, before; empty where it is new
    std::string saved;     // that the port computes it rightly and saves other numbers; empty where it is not so
    /// By mistakes of the catalogue.
    bool named() const { return diagnosis.named || !pair.empty(); }
    bool explained() const { return named() || !saved.empty(); }
};

/// What would become of the candidate if the mistakes that were found were repaired.
enum class Repaired {
    yes,     // every other wrong stage follows from what the candidate reports: nothing else is wrong
    no,      // a stage is wrong by itself and nobody can say why
    unknown  // of a stage nobody can say what it follows from: no model, no input, or what lies between is not
             // reported; or the first wrong stage only passes on what lies before it
};
/// "yes", "no", "unknown".
const char* repaired_word(Repaired repaired);

struct AllMistakes {
    std::vector<WrongStage> stages;  // in model order; the first is the first wrong stage
    // Wrong stages that no formula reaches from what is reported, and gradients behind a wrong forward pass.
    std::vector<std::string> not_judged;
    Repaired repaired = Repaired::unknown;
    std::size_t pairs_tried = 0;  // of two mistakes, at all stages that none explains alone: what a search costs
    Index tokens_for_passes = 0;  // of a text that is short enough for whole passes, where this one is not
    std::string doubt;            // doubt_of_reference at the first wrong stage, by whoever does not know the reference
};

/// Stages of `names` that each stage is made of, directly: what a search for the first wrong stage goes by.
using MadeOf = std::map<std::string, std::vector<std::string>>;

/// Judges the first wrong stage as diagnose() does, and every failing stage after it by the candidate's own inputs:
/// where the right formula leaves more than ten times what rounding allows, the stage is wrong by itself and a mistake
/// is looked for.  Where no mistake explains a stage alone, pairs are tried; a pair is named under the same conditions
/// as a mistake, and only if no other two mistakes make the same numbers.  Where stages before the first wrong one are
/// not reported, mistakes are also made in a whole pass (whole_pass.h); one that gives every reported stage ends the
/// search. `made_of`: of every stage of the reference. Throws Cancelled as soon as evidence.stop says yes.
AllMistakes diagnose_all(const Evidence& evidence, const Comparison& comparison, const StageVerdict& first,
                         const MadeOf& made_of);

}  // namespace locus::conformance

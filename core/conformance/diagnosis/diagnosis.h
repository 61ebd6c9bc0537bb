#pragma once
// Which mistake explains the first wrong stage?
#include <optional>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

/// A hypothesis and what is left of the candidate when it is taken away.
struct Explanation {
    int mistake = 0;  // 0: the right formula
    std::string how;
    double residual = 0;           // max |candidate - hypothesis| over max |hypothesis|
    double allowed = 0;            // what rounding explains of it
    bool is_bound = false;         // it was given up early: it leaves at least that much
    const Variant* way = nullptr;  // of the catalogue; nullptr for the right formula
    bool fits() const { return residual <= allowed; }
};

struct Diagnosis {
    std::optional<Explanation> named;  // exactly one mistake fits, and the next is far away
    std::vector<int> equivalent;       // other mistakes that make the very same numbers here
    std::optional<Explanation> runner_up;
    std::vector<Explanation> judged;  // every hypothesis that could be computed, best first
    bool in_whole_pass = false;       // named because its whole pass gives every stage that is reported
    bool follows = false;  // by the right formula from what the candidate reports: the mistake lies before it
    std::string pattern;   // what the difference looks like; one sentence, also where a name was found
};

/// What comes nearest where no mistake is named.
struct Nearest {
    Explanation mistake;
    std::optional<double> right_leaves;  // the right formula's residual; nothing where it says nothing of the stage
};
/// Nothing where a mistake is named, where the stage follows from what is reported, and where no mistake
/// leaves less than a tenth of what the right formula leaves, or it is not known how much: that says nothing.
std::optional<Nearest> nearest_of(const Diagnosis& diagnosis);

/// Judges every mistake of the catalogue that can reach the stage.  `verdict` is a failing one of the comparison.
/// A mistake whose own stages the candidate reports and has right is not judged.  A name is given only if a hypothesis
/// leaves no more than rounding, and every hypothesis that makes other numbers leaves 100 times as much as it does and
/// 10 times what rounding allows beside it (Judge::rounding_beside).  Throws Cancelled as soon as evidence.stop says
/// yes. `assumed`: formulas that are known to be the candidate's in stages that it does not report.
Diagnosis diagnose(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
                   const std::vector<Formula>& assumed = {});
/// The same without the pattern of the difference, which takes long where no rule holds; it stays empty unless the
/// stage follows from what is reported.
Diagnosis find_mistake(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
                       const std::vector<Formula>& assumed = {});

/// The shape of a difference: constant factor, constant per row, transposed, reversed, other heads, only far pairs,
/// only padded rows, only single cells; "no pattern found" if none of them holds.
std::string describe_difference(const Evidence& evidence, const StageVerdict& verdict);

// Mistakes that make the very same numbers, so that no dump of those numbers can tell them apart.

struct Equivalent {
    int first = 0, second = 0;  // numbers of the catalogue, first < second
    bool everywhere = false;    // on every input: the number of either is right for both
    std::string where;          // else: the models or texts on which they cannot be told apart
    std::string reason;
};

/// All pairs that are known, sorted by their numbers.
const std::vector<Equivalent>& equivalents();
/// True for the same number, and for a pair that is equivalent everywhere, in either order.
bool equivalent(int a, int b);

// What a diagnosis of two files would need to judge more mistakes than it could.

/// One sentence that says which options of `locus check` let more mistakes be judged, and how many; empty where a
/// mistake is named, where the stage follows from what is reported by the right formula, and where nothing is missing.
/// says_inputs: the files themselves say what the pass was given, which is read as soon as there is a model.
std::string would_learn(const Evidence& evidence, const StageVerdict& verdict, const Diagnosis& diagnosis,
                        bool says_inputs = false);

}  // namespace locus::conformance

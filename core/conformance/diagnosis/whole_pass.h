#pragma once
// A dump without the stages that its first wrong one is made of: the mistake may have been made in an earlier layer,
// and again in each one since.  Then the whole pass of a port with that mistake is what the dump has to be held
// against.
#include <optional>
#include <vector>

#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

/// A mistake whose whole pass gives every stage that the candidate reports.
struct WholePass {
    Explanation named;            // measured at the first wrong stage
    std::vector<int> equivalent;  // other mistakes whose passes give the same numbers in all these stages
    std::optional<Explanation> runner_up;
    bool complete = true;  // every reported stage was computed; else some follow by no formula from what is wrong
};

/// What a search found, or how long a text may be for it: tokens of all segments together, where this one is longer.
struct WholePassSearch {
    std::optional<WholePass> found;
    Index most_tokens = 0;  // 0: the search was made, or nothing would come of it
};

/// Runs the pass of every way to make a mistake of the family, and looks for the one that leaves no more than rounding
/// in any reported stage.  A name is given only if every mistake that makes other numbers leaves, in some stage, 100
/// times as much as it does and 10 times what rounding allows.
/// Nothing without model and inputs, where the right pass with these inputs is not the reference's, where the candidate
/// reports everything before its first wrong stage, and where all these passes would take more than evidence.most_work.
/// `first`: a failing verdict of the comparison.  Throws Cancelled as soon as evidence.stop says yes.
WholePassSearch whole_pass_behind(const Evidence& evidence, const Comparison& comparison, const StageVerdict& first);

/// True if the pass of this one way gives every stage that the candidate reports, as above, of a dump that lacks a
/// stage before its first wrong one.  Throws Cancelled.
bool gives_all_reported(const Evidence& evidence, const Comparison& comparison, const StageVerdict& first,
                        const Explanation& named);

/// The reference and, behind its own stages, those that it lacks and the candidate reports, as the model computes them:
/// a mistake may show in them first, and by its name.
/// Nothing where there are none, without model and inputs, where the right pass with these inputs is not the
/// reference's, and where it would take more than a part of evidence.most_work.  Throws Cancelled.
std::optional<TraceView> filled_reference(const Evidence& evidence);

/// Of gradients, which follow from the whole forward pass: the reference and behind its stages all others that the
/// model computes on its way there and back.  Nothing where nobody reports a gradient, and where filled_reference gives
/// nothing.
std::optional<TraceView> reference_there_and_back(const Evidence& evidence);

}  // namespace locus::conformance

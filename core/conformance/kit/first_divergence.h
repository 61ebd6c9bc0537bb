#pragma once
// Where does a mistake begin, as far as a port said anything?
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/conformance/kit/case.h"

namespace locus::conformance {

/// Stages of a reference and what each is made of: as much of a case as the search below needs.
KitCase case_of(const TraceView& reference);

/// Failing stages of which everything reported that they follow from passes, in the order of a pass.
std::vector<std::string> first_wrong(const KitCase& one, const Comparison& comparison);

/// One or two stages not reported that would narrow the mistake behind `wrong` down most: those that leave the fewest
/// places for it on average.  Empty if everything that `wrong` is made of was reported.
std::vector<std::string> would_narrow(const KitCase& one, const Comparison& comparison, const std::string& wrong);

// Which stages a stage is made of: the order in which a kit looks for the first wrong one.

/// Those of `known` that `stage` is computed from directly, by name: "layer.0.p2c" -> layer.0.k, layer.0.q_r,
/// relative.index.  Where a stage that lies between is not known, what that one is made of stands in its place.
std::vector<std::string> depends_of(const std::string& stage, const std::vector<std::string>& known);

}  // namespace locus::conformance

#pragma once
// What a wrong stage is made of, where no mistake of the catalogue explains it: the right formula, but with another
// stage, another weight or other numbers of terms than it should have.
#include <optional>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/conformance/diagnosis/replay.h"

namespace locus::conformance {

/// One sentence, if exactly this gives the stage and the right parts do not:
///   "c2p counts -1 times what it should, c2c and p2c once": a sum of terms;
///   "it is made of layer.0.k instead of layer.0.q": another stage of its layer, or an output of another one;
///   "it is made with encoder.layer.0.output.dense instead of encoder.layer.1.output.dense": other weights of the
///   checkpoint; "without encoder.layer.0.output.LayerNorm.bias"; weight and bias exchanged; "rows from 1 on".
/// Nothing where no such change explains it, or where several do that make other numbers; of large stages fewer are
/// tried.  `evidence`, `comparison` and `assumed` as a Judge takes them; `first`: the first that explains it will do,
/// as in a further layer.  Throws Cancelled.
std::optional<std::string> made_of_other_parts(const Evidence& evidence, const Comparison& comparison,
                                               const StageVerdict& verdict, const std::vector<Formula>& assumed = {},
                                               bool first = false);

}  // namespace locus::conformance

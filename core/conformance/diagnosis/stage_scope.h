#pragma once
// Where a stage stands: what formulas call it by, and in which scope.
#include <string>
#include <utility>

namespace locus::conformance {

/// "segment.1.layer.0.bd" -> "segment.1.layer.0." and "bd"; "relative.index" -> "" and "/relative.index";
/// "layer.1.g.q" -> "layer.1.g." and "q"; "memory.1" -> "layer.1." and "memory"; "grad.layer.0.q" -> "layer.0." and
/// "grad.q"; "grad.mlm.logits" -> "" and "/grad.mlm.logits".  A gradient follows from what comes after its stage:
/// "grad.layer.0.output" -> "layer.1." and "grad.x".  Of a parameter of a layer the stem has "#" for the number.
std::pair<std::string, std::string> scope_and_stem(const std::string& name);

}  // namespace locus::conformance

#pragma once
// Which stages a stage is made of: the order in which a kit looks for the first wrong one.
#include <string>
#include <vector>

namespace locus::conformance {

/// Those of `known` that `stage` is computed from directly, by name: "layer.0.p2c" -> layer.0.k, layer.0.q_r,
/// relative.index.  Where a stage that lies between is not known, what that one is made of stands in its place.
std::vector<std::string> depends_of(const std::string& stage, const std::vector<std::string>& known);

}  // namespace locus::conformance

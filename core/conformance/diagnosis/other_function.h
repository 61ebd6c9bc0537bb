#pragma once
// An activation that no mistake of the catalogue knows: what it makes of a few numbers.
#include <optional>
#include <string>

#include "core/conformance/diagnosis/patterns.h"
#include "core/conformance/diagnosis/replay.h"

namespace locus::conformance {

/// "another function of the right numbers: f(-1) = -0.2, f(0) = 0, f(1) = 1, where gelu gives -0.158655, 0, 0.841345",
/// if every value of ffn_act, conv_act, classifier.pooled or rtd.transform depends on what goes into its activation
/// there, and on nothing else.  Nothing for any other stage, and where too few values are seen to tell. here: the scope
/// of the stage, by what the candidate reports; at: the stage beside what it should be by that. Throws NotEnough where
/// what goes in is not known.
std::optional<std::string> function_instead(const Replay& here, const std::string& stem, const Compared& at);

}  // namespace locus::conformance

#pragma once
// What a diagnosis of two files would need to judge more mistakes than it could.
#include <string>

#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

/// One sentence that says which options of `locus check` let more mistakes be judged, and how many; empty where a
/// mistake is named, where the stage follows from what is reported by the right formula, and where nothing is missing.
std::string would_learn(const Evidence& evidence, const StageVerdict& verdict, const Diagnosis& diagnosis);

}  // namespace locus::conformance

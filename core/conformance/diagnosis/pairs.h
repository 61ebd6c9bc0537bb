#pragma once
// Two mistakes in one stage, where none explains it alone.
#include <string>
#include <vector>

#include "core/conformance/diagnosis/judge.h"

namespace locus::conformance {

/// The two mistakes that explain the stage together: they leave no more than rounding, everything else that makes
/// other numbers is as far away as a name demands, and two others that make the same numbers are named beside them if
/// they have one of both in common.  Each changes the stage by itself.  Adds to `tried`. `alone`: what each mistake
/// leaves by itself.
std::vector<Explanation> pair_behind(const Evidence& evidence, const Judge& judge, const std::string& stage,
                                     const std::vector<Hypothesis>& alone, std::size_t& tried);

/// True if a formula of it stands in place of this stem's.
bool replaces(const Variant& variant, const std::string& stem);

}  // namespace locus::conformance

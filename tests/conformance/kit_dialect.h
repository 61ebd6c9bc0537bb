#pragma once
// What a case expects of a port that follows another dialect than the recorded code.
#include "tests/conformance/kit_case.h"

namespace locus::conformance {

/// The recorded reference where the dialect is the recorded one or changes nothing; else what Locus computes in double
/// precision from the case's model and inputs.  Where `computed` is given it says which of the two it was.
Trace reference_under(const Kit& kit, const KitCase& one, Dialect dialect, bool* computed = nullptr);

}  // namespace locus::conformance

#pragma once
// What a case expects of a port that follows another dialect than the recorded code.
#include "core/conformance/kit/kit_case.h"

namespace locus::conformance {

/// The recorded reference where the dialect is the recorded one or changes nothing; else what Locus computes in double
/// precision from the case's model and inputs.  A part of a case whose given stages the dialect changes stays as it is
/// recorded: what follows from them is the same in every dialect.
Trace reference_under(const Kit& kit, const KitCase& one, Dialect dialect);

}  // namespace locus::conformance

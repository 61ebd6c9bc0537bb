#pragma once
// One function per mistake; the number is that of the catalogue.
#include "tests/conformance/formulas.h"
#include "tests/conformance/mistake.h"

namespace locus::conformance {

Mistake mistake_01();
Mistake mistake_26();

}  // namespace locus::conformance

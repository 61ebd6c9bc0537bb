#pragma once
// One function per mistake; the number is that of the catalogue.
#include "tests/conformance/formulas.h"
#include "tests/conformance/mistake.h"

namespace locus::conformance {

Mistake mistake_01();
Mistake mistake_26();
Mistake mistake_39();
Mistake mistake_40();
Mistake mistake_41();
Mistake mistake_42();
Mistake mistake_43();
Mistake mistake_44();
Mistake mistake_45();
Mistake mistake_46();
Mistake mistake_47();
Mistake mistake_48();
Mistake mistake_49();
Mistake mistake_50();
Mistake mistake_51();
Mistake mistake_52();

}  // namespace locus::conformance

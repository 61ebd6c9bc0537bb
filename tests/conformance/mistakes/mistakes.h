#pragma once
// One function per mistake; the number is that of the catalogue.
#include "tests/conformance/formulas.h"
#include "tests/conformance/mistake.h"

namespace locus::conformance {

Mistake mistake_01();
Mistake mistake_26();
Mistake mistake_56();
Mistake mistake_57();
Mistake mistake_58();
Mistake mistake_59();
Mistake mistake_60();
Mistake mistake_61();
Mistake mistake_62();
Mistake mistake_63();
Mistake mistake_65();
Mistake mistake_66();
Mistake mistake_67();
Mistake mistake_68();
Mistake mistake_69();
Mistake mistake_70();
Mistake mistake_71();
Mistake mistake_72();
Mistake mistake_73();
Mistake mistake_74();
Mistake mistake_75();
Mistake mistake_76();
Mistake mistake_77();
Mistake mistake_82();
Mistake mistake_83();

}  // namespace locus::conformance

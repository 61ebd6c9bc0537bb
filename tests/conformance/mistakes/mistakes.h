#pragma once
// One function per mistake; the number is that of the catalogue.
#include "tests/conformance/formulas.h"
#include "tests/conformance/mistake.h"

namespace locus::conformance {

Mistake mistake_01();
Mistake mistake_02();
Mistake mistake_03();
Mistake mistake_04();
Mistake mistake_05();
Mistake mistake_06();
Mistake mistake_07();
Mistake mistake_08();
Mistake mistake_09();
Mistake mistake_10();
Mistake mistake_11();
Mistake mistake_12();
Mistake mistake_13();
Mistake mistake_14();
Mistake mistake_15();
Mistake mistake_16();
Mistake mistake_17();
Mistake mistake_18();
Mistake mistake_19();
Mistake mistake_20();
Mistake mistake_21();
Mistake mistake_22();
Mistake mistake_23();
Mistake mistake_24();
Mistake mistake_25();
Mistake mistake_26();
Mistake mistake_27();
Mistake mistake_28();
Mistake mistake_29();
Mistake mistake_30();
Mistake mistake_31();
Mistake mistake_32();
Mistake mistake_33();
Mistake mistake_34();
Mistake mistake_35();
Mistake mistake_36();
Mistake mistake_37();

}  // namespace locus::conformance

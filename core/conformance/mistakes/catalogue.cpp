// The catalogue: every mistake stands in a file of its own below mistakes/.
#include "core/check.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

const std::vector<Mistake>& catalogue() {
    // clang-format off
    static const std::vector<Mistake> all = {
        mistake_01(),
        mistake_02(),
        mistake_03(),
        mistake_04(),
        mistake_05(),
        mistake_06(),
        mistake_07(),
        mistake_08(),
        mistake_09(),
        mistake_10(),
        mistake_11(),
        mistake_12(),
        mistake_13(),
        mistake_14(),
        mistake_15(),
        mistake_16(),
        mistake_17(),
        mistake_18(),
        mistake_19(),
        mistake_20(),
        mistake_21(),
        mistake_22(),
        mistake_23(),
        mistake_24(),
        mistake_25(),
        mistake_26(),
        mistake_27(),
        mistake_28(),
        mistake_29(),
        mistake_30(),
        mistake_31(),
        mistake_32(),
        mistake_33(),
        mistake_34(),
        mistake_35(),
        mistake_36(),
        mistake_37(),
        mistake_38(),
        mistake_39(),
        mistake_40(),
        mistake_41(),
        mistake_42(),
        mistake_43(),
        mistake_44(),
        mistake_45(),
        mistake_46(),
        mistake_47(),
        mistake_48(),
        mistake_49(),
        mistake_50(),
        mistake_51(),
        mistake_52(),
        mistake_53(),
        mistake_54(),
        mistake_55(),
        mistake_56(),
        mistake_57(),
        mistake_58(),
        mistake_59(),
        mistake_60(),
        mistake_61(),
        mistake_62(),
        mistake_63(),
        mistake_64(),
        mistake_65(),
        mistake_66(),
        mistake_67(),
        mistake_68(),
        mistake_69(),
        mistake_70(),
        mistake_71(),
        mistake_72(),
        mistake_73(),
        mistake_74(),
        mistake_75(),
        mistake_76(),
        mistake_77(),
        mistake_78(),
        mistake_79(),
        mistake_80(),
        mistake_81(),
        mistake_82(),
        mistake_83(),
    };
    // clang-format on
    return all;
}

const Mistake& mistake_of(int number) {
    std::string known;
    for (const Mistake& mistake : catalogue()) {
        if (mistake.number == number) return mistake;
        known += (known.empty() ? "" : ", ") + std::to_string(mistake.number);
    }
    throw Error(Fault::usage, "mistake " + std::to_string(number) + " is not in the catalogue; it holds " + known);
}

}  // namespace locus::conformance

// The catalogue: every mistake stands in a file of its own below mistakes/.
#include "core/check.h"
#include "tests/conformance/mistakes/mistakes.h"

namespace locus::conformance {

const std::vector<Mistake>& catalogue() {
    // clang-format off
    static const std::vector<Mistake> all = {
        mistake_01(),
        mistake_26(),
        mistake_56(),
        mistake_57(),
        mistake_58(),
        mistake_59(),
        mistake_60(),
        mistake_61(),
        mistake_62(),
        mistake_63(),
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

// The catalogue: every mistake stands in a file of its own below mistakes/.
#include "core/check.h"
#include "tests/conformance/mistakes/mistakes.h"

namespace locus::conformance {

const std::vector<Mistake>& catalogue() {
    static const std::vector<Mistake> all = {
        mistake_01(),  //
        mistake_26(),  //
        mistake_39(),  //
        mistake_40(),  //
        mistake_41(),  //
        mistake_42(),  //
        mistake_43(),  //
        mistake_44(),  //
        mistake_45(),  //
        mistake_46(),  //
        mistake_47(),  //
        mistake_48(),  //
        mistake_49(),  //
        mistake_50(),  //
        mistake_51(),  //
        mistake_52(),  //
    };
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

// The catalogue: every mistake stands in a file of its own below mistakes/.
#include "core/check.h"
#include "tests/conformance/mistakes/mistakes.h"

namespace locus::conformance {

const std::vector<Mistake>& catalogue() {
    static const std::vector<Mistake> all = {mistake_01(), mistake_26()};
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

#pragma once
// Mistakes that make the very same numbers, so that no dump of those numbers can tell them apart.
#include <string>
#include <vector>

namespace locus::conformance {

struct Equivalent {
    int first = 0, second = 0;  // numbers of the catalogue, first < second
    bool everywhere = false;    // on every input: the number of either is right for both
    std::string where;          // else: the models or texts on which they cannot be told apart
    std::string reason;
};

/// All pairs that are known, sorted by their numbers.
const std::vector<Equivalent>& equivalents();
/// True for the same number, and for a pair that is equivalent everywhere, in either order.
bool equivalent(int a, int b);

}  // namespace locus::conformance

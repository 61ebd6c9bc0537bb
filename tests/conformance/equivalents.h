#pragma once
// Mistakes that make the very same numbers, so that no dump can tell them apart.
#include <string>
#include <vector>

namespace locus::conformance {

struct Equivalent {
    int first = 0, second = 0;  // numbers of the catalogue, first < second
    std::string where;          // on which dumps or models
    std::string reason;
};

/// All pairs that are known, sorted.
const std::vector<Equivalent>& equivalents();
/// True for the same number, and for a pair of the table, in either order.
bool equivalent(int a, int b);

}  // namespace locus::conformance

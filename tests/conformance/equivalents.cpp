#include "tests/conformance/equivalents.h"

#include <algorithm>

namespace locus::conformance {

const std::vector<Equivalent>& equivalents() {
    static const std::vector<Equivalent> all = {};
    return all;
}

bool equivalent(int a, int b) {
    return a == b || std::any_of(equivalents().begin(), equivalents().end(), [&](const Equivalent& pair) {
               return pair.first == std::min(a, b) && pair.second == std::max(a, b);
           });
}

}  // namespace locus::conformance

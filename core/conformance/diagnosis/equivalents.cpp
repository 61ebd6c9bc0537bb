#include "core/conformance/diagnosis/equivalents.h"

#include <algorithm>

namespace locus::conformance {

const std::vector<Equivalent>& equivalents() {
    static const std::vector<Equivalent> all = {
        {1, 5, false, "models without c2p, and dumps of p2c alone",
         "5 turns the offset in both terms, 1 in p2c alone; where only p2c is seen it is the same turn"},
        {4, 5, false, "models without p2c, and dumps of c2p or the index alone",
         "5 turns the offset in both terms, 4 in c2p alone; where only c2p is seen it is the same turn"},
        {7, 11, false, "texts one token shorter than the span",
         "a slice of k - T = 1 rows less is a centre off by one"},
        {7, 18, false, "M = b + 1", "a centre at M is a centre at k + 1"},
        {13, 14, false, "dumps of the index alone",
         "14 has the index of 13; what it adds is which rows of the table each sample gets"},
        {16, 20, false, "texts of no more than b tokens",
         "ceil of ln 1 and floor of anything below 1 are both 0, so all buckets up to 2 mid are mid"},
        {27, 30, false, "numbers of heads that are numbers of terms, H = 2, 3, 4",
         "sqrt(D) = sqrt(H d) is the scale of H terms"},
        {33, 35, true, "",
         "a constant that overflows to -inf leaves NaN in rows without keys: that is how most of them get it"},
    };
    return all;
}

bool equivalent(int a, int b) {
    return a == b || std::any_of(equivalents().begin(), equivalents().end(), [&](const Equivalent& pair) {
               return pair.everywhere && pair.first == std::min(a, b) && pair.second == std::max(a, b);
           });
}

}  // namespace locus::conformance

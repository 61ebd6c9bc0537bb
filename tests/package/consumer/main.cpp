// A program outside the tree of Locus: one term of attention, and the number of mistakes that the catalogue knows.
#include <iostream>

#include "core/attention/disentangled.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/positions/relative_buckets.h"

int main() {
    using namespace locus;
    Matrix<double> q(3, 2), k_r(4, 2);
    q << 1, 0, 0, 1, 1, 1;
    k_r << 1, 0, 0, 1, 1, 1, 2, -1;
    const Matrix<double> c2p = content_to_position<double>(q, k_r, RelativeBuckets::clamped(3, 3, 2));
    std::cout << c2p << '\n' << conformance::catalogue().size() << " mistakes\n";
    return c2p(0, 2) == 1 ? 0 : 1;
}

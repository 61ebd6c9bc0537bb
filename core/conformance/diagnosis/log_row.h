#pragma once
// The row of an offset in log buckets, with the steps that people get wrong left open.
#include <cmath>
#include <cstdlib>

#include "core/conformance/diagnosis/relative_rule.h"

namespace locus::conformance {

/// sign(x) (steps(|x|, mid) + mid) + b, clamped to the table; |x| <= mid is its own bucket.
template <class Steps>
Index log_row(const RelativeRule& rule, Index offset, Steps steps) {
    const Index x = rule.clamped_offset(offset), distance = std::abs(x), middle = rule.middle();
    if (distance <= middle) return rule.row(offset);
    const double counted = steps(static_cast<double>(distance), static_cast<double>(middle));
    if (!std::isfinite(counted)) throw NotEnough{"a finite bucket"};
    const Index bucket = static_cast<Index>(counted) + middle;
    return rule.inside((x > 0 ? bucket : -bucket) + rule.span);
}

/// ln(|x| / mid) / ln(top / mid) (mid - 1), before it is rounded.
inline double log_steps(double distance, double middle, double top) {
    return std::log(distance / middle) / std::log(top / middle) * (middle - 1);
}

}  // namespace locus::conformance

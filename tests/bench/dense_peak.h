#pragma once
// What this machine can do at most: products with sums in registers, nothing read from memory.

namespace locus::bench {

/// 10^9 operations in float32 per second of processor time (a product and a sum are two) on one core: the best of
/// several short runs with the widest registers this processor has.
double dense_peak();

}  // namespace locus::bench

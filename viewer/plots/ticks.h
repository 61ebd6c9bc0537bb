#pragma once
// Where an axis carries numbers.
#include <vector>

namespace locus {

/// Multiples of 1, 2 or 5 times a power of ten inside [low, high], at most `at_most` (>= 2) of them, rising.
/// One value if low == high; none if a bound is not finite or low > high.
std::vector<double> nice_ticks(double low, double high, int at_most);

/// The same, but whole numbers only, for offsets, rows and tokens.
std::vector<double> whole_ticks(double low, double high, int at_most);

/// Decimals that tell neighbouring ticks apart: 0 for 10, 20; 1 for 0.5, 1.0.
int tick_decimals(const std::vector<double>& ticks);

}  // namespace locus

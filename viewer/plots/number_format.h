#pragma once
// Numbers as the viewer writes them: fixed decimals, a true minus sign, never "-0.00".
#include <cstdint>
#include <string>

namespace locus {

/// "−12.0831" with `decimals` digits after the point; "NaN", "∞", "−∞".
std::string fixed(double value, int decimals);

/// "1.2e−07" with `decimals` digits after the point, of a finite value.
std::string scientific(double value, int decimals);

/// As `fixed`, but from 1e5 on, where that overruns its place, and below 1e-3, where it keeps no digit that counts, in
/// powers of ten with `digits` after the point: "1.60e+18", "2.40e−04".
std::string compact(double value, int decimals, int digits = 2);

/// Six decimals, "0.002500"; what they would say too little of in powers of ten, "1.0728e−06".
std::string precise(double value);

/// Three significant digits or so for legends and cells: "58.7", "0.31", "1.2e−7"; whole numbers as they are.
std::string brief(double value);

/// "−2"
std::string whole(std::int64_t value);

/// "12 345": groups of three from five digits on.
std::string grouped(std::int64_t value);

/// "12 rows", "1 row"
std::string several(std::int64_t count, const std::string& noun);

/// "2 to the right" for i - j = -2, "4 to the left", "itself".
std::string direction(std::int64_t offset);

}  // namespace locus

#pragma once
// Numbers as the pages write them.
#include <string>

namespace locus::view {

/// Fixed decimals and a true minus sign (U+2212), so that columns align: "−12.0831".  "NaN", "∞", "−∞".
std::string fixed(double value, int decimals);

/// Short form for cells, legends and axes: three significant digits, trailing zeros dropped: "58.7", "0.25", "1.2e−5".
std::string brief(double value);

/// A step of 1, 2 or 5 times a power of ten that cuts `extent` into at most `most` pieces; 1 if extent is not positive.
double nice_step(double extent, int most);

}  // namespace locus::view

#include "viewer/plots/number_format.h"

#include <cmath>
#include <cstdio>

namespace locus::view {

namespace {

const char* kMinus = "\u2212";

std::string with_minus(std::string text) {
    for (std::size_t at = text.find('-'); at != std::string::npos; at = text.find('-', at + 3))
        text.replace(at, 1, kMinus);
    return text;
}

std::string not_finite(double value) {
    if (std::isnan(value)) return "NaN";
    return value > 0 ? "\u221e" : std::string(kMinus) + "\u221e";
}

}  // namespace

std::string fixed(double value, int decimals) {
    if (!std::isfinite(value)) return not_finite(value);
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    std::string digits = text;
    if (digits.find_first_of("123456789") == std::string::npos && digits[0] == '-')
        digits.erase(0, 1);  // no negative zero
    return with_minus(digits);
}

std::string brief(double value) {
    if (!std::isfinite(value)) return not_finite(value);
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", value);
    std::string digits = text;
    const std::size_t exponent = digits.find('e');
    if (exponent != std::string::npos) {  // "1.2e-05" -> "1.2e-5"
        std::size_t at = exponent + 1;
        if (digits[at] == '+') digits.erase(at, 1);
        if (digits[at] == '-') ++at;
        while (at + 1 < digits.size() && digits[at] == '0') digits.erase(at, 1);
    }
    return with_minus(digits);
}

double nice_step(double extent, int most) {
    if (!(extent > 0) || most < 1) return 1;
    const double rough = extent / most;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough * (1 - 1e-12)) return factor * power;
    return 10 * power;
}

}  // namespace locus::view

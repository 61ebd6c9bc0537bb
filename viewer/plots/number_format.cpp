#include "viewer/plots/number_format.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace locus {

namespace {

constexpr const char* kMinus = "\u2212";

std::string with_true_minus(const std::string& ascii) {
    std::string text;
    for (const char c : ascii)
        if (c == '-')
            text += kMinus;
        else
            text += c;
    return text;
}

bool is_zero(const std::string& digits) { return digits.find_first_of("123456789") == std::string::npos; }

std::string print(const char* format, int decimals, double value) {
    std::array<char, 400> buffer{};  // the largest double has 309 digits
    std::snprintf(buffer.data(), buffer.size(), format, decimals, value);
    return buffer.data();
}

}  // namespace

std::string fixed(double value, int decimals) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "\u221e" : std::string(kMinus) + "\u221e";
    std::string digits = print("%.*f", decimals, value);
    if (digits.front() == '-' && is_zero(digits)) digits.erase(0, 1);
    return with_true_minus(digits);
}

std::string scientific(double value, int decimals) { return with_true_minus(print("%.*e", decimals, value)); }

std::string compact(double value, int decimals, int digits) {
    const double size = std::abs(value);
    if (!std::isfinite(value) || value == 0 || (size < 1e5 && size >= 1e-3)) return fixed(value, decimals);
    return scientific(value, digits);
}

std::string precise(double value) {
    return value != 0 && std::abs(value) < 1e-3 ? scientific(value, 4) : fixed(value, 6);
}

std::string brief(double value) {
    const double size = std::abs(value);
    if (!std::isfinite(value)) return fixed(value, 0);
    if (size < 1000 && value == std::round(value)) return fixed(value, 0);
    if (size >= 1e6 || size < 1e-3) return scientific(value, 1);
    std::string digits = fixed(value, size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
    if (digits.find('.') != std::string::npos) {
        digits.erase(digits.find_last_not_of('0') + 1);
        if (digits.back() == '.') digits.pop_back();
    }
    return digits;
}

std::string whole(std::int64_t value) { return with_true_minus(std::to_string(value)); }

std::string grouped(std::int64_t value) {
    std::string digits = std::to_string(value < 0 ? -value : value);
    if (digits.size() > 4)
        for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, " ");
    return (value < 0 ? kMinus : "") + digits;
}

std::string several(std::int64_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string direction(std::int64_t offset) {
    if (offset == 0) return "itself";
    return std::to_string(offset > 0 ? offset : -offset) + (offset > 0 ? " to the left" : " to the right");
}

}  // namespace locus

#pragma once
// What the standard library of Debian 12's emscripten (libc++ 13) lacks of C++20: std::bit_cast, and numbers with a
// decimal point to and from characters.  The compiler reads this before every file of the browser's build.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <type_traits>

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
    return __builtin_bit_cast(To, from);
}

/// With so many digits after the point.
inline to_chars_result to_chars(char* first, char* last, double value, chars_format format, int precision) {
    char text[512];
    const char* const form = format == chars_format::fixed        ? "%.*f"
                             : format == chars_format::scientific ? "%.*e"
                                                                  : "%.*g";
    const int length = snprintf(text, sizeof text, form, precision, value);
    if (length < 0 || length >= static_cast<int>(sizeof text) || length > last - first)
        return {last, errc::value_too_large};
    memcpy(first, text, static_cast<size_t>(length));
    return {first + length, errc{}};
}

/// The fewest digits that give the value back; with an exponent where that is shorter.
template <class Real, enable_if_t<is_floating_point_v<Real>, int> = 0>
to_chars_result to_chars(char* first, char* last, Real value) {
    char scientific[64], plain[512];
    int digits = 0;
    for (; digits < 17; ++digits) {
        snprintf(scientific, sizeof scientific, "%.*e", digits, static_cast<double>(value));
        const Real back = is_same_v<Real, float> ? static_cast<Real>(strtof(scientific, nullptr))
                                                 : static_cast<Real>(strtod(scientific, nullptr));
        if (back == value || value != value) break;
    }
    const char* const mark = strchr(scientific, 'e');
    const char* shortest = scientific;
    if (mark) {
        const int exponent = atoi(mark + 1);
        if (exponent < 400 && exponent > -400) {
            const int after = max(0, digits - exponent);
            const int length = snprintf(plain, sizeof plain, "%.*f", after, static_cast<double>(value));
            if (length <= static_cast<int>(strlen(scientific))) shortest = plain;
        }
    }
    const size_t length = strlen(shortest);
    if (static_cast<ptrdiff_t>(length) > last - first) return {last, errc::value_too_large};
    memcpy(first, shortest, length);
    return {first + length, errc{}};
}

/// As the C++ standard has it: no blank and no plus sign before the number, no hexadecimal digits.
template <class Real, enable_if_t<is_floating_point_v<Real>, int> = 0>
from_chars_result from_chars(const char* first, const char* last, Real& value) {
    const auto part = [&](const char* at) {
        return (*at >= '0' && *at <= '9') || *at == '.' || *at == 'e' || *at == 'E' || *at == '-' || *at == '+';
    };
    const char* end = first;
    while (end != last && part(end)) ++end;
    const string text(first, end);
    if (text.empty() || text[0] == '+') return {first, errc::invalid_argument};
    char* stop = nullptr;
    const Real read = is_same_v<Real, float> ? static_cast<Real>(strtof(text.c_str(), &stop))
                                             : static_cast<Real>(strtod(text.c_str(), &stop));
    if (stop == text.c_str()) return {first, errc::invalid_argument};
    const char* const after = first + (stop - text.c_str());
    if (isinf(read) || (read == 0 && text.find_first_of("123456789") < text.find_first_of("eE")))
        return {after, errc::result_out_of_range};
    value = read;
    return {after, errc{}};
}

}  // namespace std

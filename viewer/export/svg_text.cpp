#include "viewer/export/svg_text.h"

#include <charconv>
#include <cmath>

#include "viewer/export/figure_svg.h"

namespace locus {

namespace {

/// Bytes of the UTF-8 character at `at` that XML can hold; 0 for anything else.
std::size_t character_length(const std::string& text, std::size_t at) {
    const auto byte = [&](std::size_t n) { return n < text.size() ? static_cast<unsigned char>(text[n]) : 0u; };
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0) return 0;
    unsigned code = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (std::size_t n = 1; n < length; ++n) {
        if ((byte(at + n) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(at + n) & 0x3f);
    }
    constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool allowed = (code >= 0x20 || code == '\t' || code == '\n') && (code < 0xd800 || code > 0xdfff) &&
                         code != 0xfffe && code != 0xffff && code <= 0x10ffff;
    return allowed && code >= kSmallest[length] ? length : 0;
}

}  // namespace

std::string xml_text(const std::string& text) {
    std::string safe;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = character_length(text, at);
        const char c = text[at];
        if (length == 0)
            safe += "\xef\xbf\xbd";
        else if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else
            safe.append(text, at, length);
        at += length == 0 ? 1 : length;
    }
    return safe;
}

std::string svg_number(double value) {
    char text[64];
    const double rounded = std::round(value * 100) / 100;
    std::string number(text, std::to_chars(text, text + sizeof text, rounded, std::chars_format::fixed, 2).ptr);
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
    return number == "-0" ? "0" : number;
}

std::string svg_attribute(const char* name, double value) {
    return std::string(" ") + name + "=\"" + svg_number(value) + "\"";
}

std::string svg_colour(const char* role, ImU32 colour) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text = std::string(" ") + role + "=\"#";
    for (const int shift : {IM_COL32_R_SHIFT, IM_COL32_G_SHIFT, IM_COL32_B_SHIFT}) {
        const unsigned part = colour >> shift & 0xff;
        text += {kDigits[part >> 4], kDigits[part & 15]};
    }
    const unsigned alpha = colour >> IM_COL32_A_SHIFT & 0xff;
    return text + "\"" +
           (alpha == 255 ? "" : std::string(" ") + role + "-opacity=\"" + svg_number(alpha / 255.0) + "\"");
}

std::string base64(const std::string& bytes) {
    constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        unsigned three = 0;
        for (std::size_t n = 0; n < 3; ++n)
            three = three << 8 | (at + n < bytes.size() ? static_cast<unsigned char>(bytes[at + n]) : 0u);
        for (std::size_t n = 0; n < 4; ++n) text += at + n > bytes.size() ? '=' : kLetters[three >> (18 - 6 * n) & 63];
    }
    return text;
}

}  // namespace locus

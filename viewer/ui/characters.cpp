#include "viewer/ui/characters.h"

#include <algorithm>
#include <vector>

namespace locus {

char32_t take_character(std::string_view& text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    bool whole = length > 0 && length <= text.size();
    for (std::size_t n = 1; whole && n < length; ++n) whole = (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80;
    if (!whole) {
        text.remove_prefix(1);
        return 0xfffd;
    }
    char32_t character = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (std::size_t n = 1; n < length; ++n) character = character << 6 | (static_cast<unsigned char>(text[n]) & 0x3fu);
    text.remove_prefix(length);
    return character;
}

std::string lower_ascii(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

std::string capital(std::string sentence) {
    if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z')
        sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
    return sentence;
}

namespace {

/// Points and signs that are drawn over the letter before them.
bool is_mark(char32_t c) {
    return (c >= 0x300 && c <= 0x36f) || (c >= 0x591 && c <= 0x5bd) || c == 0x5bf || c == 0x5c1 || c == 0x5c2 ||
           c == 0x5c4 || c == 0x5c5 || c == 0x5c7 || (c >= 0x610 && c <= 0x61a) || (c >= 0x64b && c <= 0x65f) ||
           c == 0x670 || (c >= 0x6d6 && c <= 0x6dc) || (c >= 0x6df && c <= 0x6e8) || (c >= 0x6ea && c <= 0x6ed);
}

/// Goes with the run around it when letters of that run follow.
bool is_between(char32_t c) {
    return c == ' ' || c == '-' || c == '\'' || c == '"' || c == '.' || c == ',' || c == 0x60c || c == 0x5be;
}

}  // namespace

std::string utf8_of(char32_t c) {
    const auto byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
    if (c < 0x80) return {byte(c)};
    if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
    if (c < 0x10000) return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
    return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
}

bool runs_left(char32_t c) {
    return (c >= 0x590 && c <= 0x8ff) || (c >= 0xfb1d && c <= 0xfdff) || (c >= 0xfe70 && c <= 0xfefc) ||
           (c >= 0x10800 && c <= 0x10fff) || (c >= 0x1e800 && c <= 0x1efff);
}

bool has_no_shape(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || (c >= 0xfe00 && c <= 0xfe0f) ||
           c == 0xfeff || (c >= 0xe0000 && c <= 0xe01ef);
}

std::string visual_order(std::string_view text) {
    std::vector<char32_t> all;
    while (!text.empty()) all.push_back(take_character(text));
    std::string drawn;
    for (std::size_t at = 0; at < all.size();) {
        if (!runs_left(all[at])) {
            drawn += utf8_of(all[at++]);
            continue;
        }
        std::size_t end = at;  // of the run: after its last letter
        for (std::size_t n = at; n < all.size() && (runs_left(all[n]) || is_between(all[n]) || is_mark(all[n])); ++n)
            if (runs_left(all[n])) end = n + 1;
        std::vector<char32_t> run(all.begin() + static_cast<std::ptrdiff_t>(at),
                                  all.begin() + static_cast<std::ptrdiff_t>(end));
        std::reverse(run.begin(), run.end());
        // Now every mark is in front of its letter: put it after the letter again.
        for (std::size_t n = 0; n < run.size(); ++n) {
            std::size_t letter = n;
            while (letter < run.size() && is_mark(run[letter])) ++letter;
            if (letter == n || letter == run.size()) continue;
            std::reverse(run.begin() + static_cast<std::ptrdiff_t>(n),
                         run.begin() + static_cast<std::ptrdiff_t>(letter) + 1);
            n = letter;
        }
        for (const char32_t c : run) drawn += utf8_of(c);
        at = end;
    }
    return drawn;
}

std::string hex_of(char32_t character) {
    std::string digits;
    for (int shift = 20; shift >= 0; shift -= 4) digits += "0123456789ABCDEF"[character >> shift & 0xf];
    while (digits.size() > 4 && digits.front() == '0') digits.erase(0, 1);
    return digits;
}

}  // namespace locus

#include "core/text/lower_case.h"

#include <unicode/ustring.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <cstdint>

#include "core/check.h"

namespace locus {

namespace {

/// Calls visit(code point) for each character.
template <class Visit>
void for_each_character(const std::string& text, Visit visit) {
    const auto length = static_cast<std::int32_t>(text.size());
    for (std::int32_t at = 0; at < length;) {
        UChar32 character = 0;
        const std::int32_t start = at;
        U8_NEXT(text.data(), at, length, character);
        LOCUS_CHECK(character >= 0, "the text is not UTF-8 at byte " + std::to_string(start));
        visit(character);
    }
}

}  // namespace

std::string lower_case_by_character(const std::string& text) {
    std::string lowered;
    for_each_character(text, [&](UChar32 character) {
        UChar original[2], lower[8];
        std::int32_t units = 0;
        U16_APPEND_UNSAFE(original, units, character);
        UErrorCode error = U_ZERO_ERROR;
        const std::int32_t count = u_strToLower(lower, 8, original, units, "", &error);
        char bytes[32];
        std::int32_t size = 0;
        u_strToUTF8(bytes, sizeof bytes, &size, lower, count, &error);
        lowered.append(bytes, static_cast<std::size_t>(size));
    });
    return lowered;
}

void check_utf8(const std::string& text) {
    for_each_character(text, [](UChar32) {});
}

}  // namespace locus

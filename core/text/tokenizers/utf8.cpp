#include "core/text/tokenizers/utf8.h"

#include <unicode/utf8.h>

#include <cstdint>

#include "core/check.h"

namespace locus {

std::size_t first_bad_byte(const std::string& text) {
    const auto length = static_cast<std::int64_t>(text.size());
    for (std::int64_t at = 0; at < length;) {
        const std::int64_t start = at;
        UChar32 character = 0;
        U8_NEXT(text.data(), at, length, character);
        if (character < 0) return static_cast<std::size_t>(start);
    }
    return text.size();
}

RepairedText repair_utf8(const std::string& text) {
    RepairedText repaired;
    const auto length = static_cast<std::int64_t>(text.size());
    for (std::int64_t at = 0; at < length;) {
        const std::int64_t start = at;
        UChar32 character = 0;
        U8_NEXT(text.data(), at, length, character);
        if (character >= 0) {
            repaired.text.append(text, static_cast<std::size_t>(start), static_cast<std::size_t>(at - start));
        } else {
            repaired.text += "\xEF\xBF\xBD";
            ++repaired.replaced;
        }
    }
    return repaired;
}

void check_utf8(const std::string& text) {
    const std::size_t bad = first_bad_byte(text);
    LOCUS_CHECK(bad == text.size(), "the text is not UTF-8 at byte " + std::to_string(bad));
}

}  // namespace locus

#include "core/text/tokenizers/lower_case.h"

#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/utf8.h"

namespace locus {

std::string lower_case_by_character(const std::string& text) {
    check_utf8(text);
    std::string lowered;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        const char32_t character = next_character(text, at);
        if (character < 0x80)
            lowered += static_cast<char>(character >= 'A' && character <= 'Z' ? character + ('a' - 'A') : character);
        else
            lowered += lower_case(text.substr(start, at - start));
    }
    return lowered;
}

}  // namespace locus

#include "core/check.h"

namespace locus {

std::string one_line(std::string text) {
    for (std::size_t n = 0; n < text.size(); ++n) {
        const auto byte = static_cast<unsigned char>(text[n]);
        if (byte < 0x20 || byte == 0x7f) text[n] = '?';
        // U+0080 to U+009F are two bytes in UTF-8; some terminals obey them.
        const auto next = n + 1 < text.size() ? static_cast<unsigned char>(text[n + 1]) : 0;
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) text.replace(n, 2, "?");
    }
    return text;
}

}  // namespace locus

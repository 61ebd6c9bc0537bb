#include "viewer/ui/utf8.h"

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

}  // namespace locus

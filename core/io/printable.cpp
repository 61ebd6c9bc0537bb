#include "core/io/printable.h"

#include <cstddef>

namespace locus {

std::string printable(std::string text) {
    constexpr std::size_t kMost = 300;
    if (text.size() > kMost) {
        std::size_t end = kMost;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
        text.resize(end);
        text += "...";
    }
    for (char& byte : text)
        if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) byte = '?';
    return text;
}

}  // namespace locus

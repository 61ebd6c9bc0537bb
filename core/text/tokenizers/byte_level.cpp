#include "core/text/tokenizers/byte_level.h"

#include <array>

#include "core/text/tokenizers/expression.h"
#include "core/text/tokenizers/split.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

using Alphabet = std::array<std::string, 256>;

Alphabet make_alphabet() {
    Alphabet alphabet;
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        append_character(alphabet[byte], printable ? byte : next++);
    }
    return alphabet;
}

const Alphabet& alphabet() {
    static const Alphabet kAlphabet = make_alphabet();
    return kAlphabet;
}

}  // namespace

std::vector<std::string> gpt2_words(std::string_view text) {
    static const Pattern kWords = expression(
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", "the words of GPT-2");
    return split(text, kWords, Behaviour::isolated);
}

std::string bytes_as_characters(std::string_view bytes) {
    std::string characters;
    for (const char byte : bytes) characters += alphabet()[static_cast<unsigned char>(byte)];
    return characters;
}

}  // namespace locus

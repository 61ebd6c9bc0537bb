#include "core/text/tokenizers/bert_words.h"

#include "core/text/tokenizers/split.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

/// The blocks that BERT calls Chinese: unified ideographs and compatibility ones, no kana, no Hangul.
bool is_bert_han(char32_t character, BertEdition edition) {
    const char32_t extension_e = edition == BertEdition::python ? 0x2B820 : 0x2B920;
    return (character >= 0x4E00 && character <= 0x9FFF) || (character >= 0x3400 && character <= 0x4DBF) ||
           (character >= 0x20000 && character <= 0x2A6DF) || (character >= 0x2A700 && character <= 0x2B73F) ||
           (character >= 0x2B740 && character <= 0x2B81F) || (character >= extension_e && character <= 0x2CEAF) ||
           (character >= 0xF900 && character <= 0xFAFF) || (character >= 0x2F800 && character <= 0x2FA1F);
}

bool is_dropped(char32_t character, BertEdition edition) {
    return character == 0 || character == 0xFFFD || is_control(character) ||
           (edition == BertEdition::python && is_unassigned(character));
}

}  // namespace

std::string bert_clean(const std::string& text, BertEdition edition) {
    std::string clean;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        const char32_t character = next_character(text, at);
        if (character == '\t' || character == '\n' || character == '\r')
            clean += ' ';
        else if (!is_dropped(character, edition))
            is_white_space(character) ? clean += ' ' : clean.append(text, start, at - start);
    }
    return clean;
}

std::string bert_space_han(const std::string& text, BertEdition edition) {
    std::string spaced;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        const bool han = is_bert_han(next_character(text, at), edition);
        if (han) spaced += ' ';
        spaced.append(text, start, at - start);
        if (han) spaced += ' ';
    }
    return spaced;
}

std::string bert_strip_accents(const std::string& text) {
    return without(normalize(text, NormalForm::nfd), is_nonspacing_mark);
}

bool is_bert_punctuation(char32_t character) {
    const bool ascii_mark = (character >= '!' && character <= '/') || (character >= ':' && character <= '@') ||
                            (character >= '[' && character <= '`') || (character >= '{' && character <= '~');
    return ascii_mark || is_unicode_punctuation(character);
}

std::vector<std::string> bert_words(std::string_view text) {
    std::vector<std::string> words;
    for_each_run(text, is_white_space, [&](std::size_t begin, std::size_t end) {
        static const Pattern kMarks = each_character(is_bert_punctuation);
        for (std::string& word : split(text.substr(begin, end - begin), kMarks, Behaviour::isolated))
            words.push_back(std::move(word));
    });
    return words;
}

}  // namespace locus

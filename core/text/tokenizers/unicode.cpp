#include "core/text/tokenizers/unicode.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/translit.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "core/check.h"

namespace locus {

namespace {

UChar32 code_point(char32_t character) { return static_cast<UChar32>(character); }

void check_length(std::string_view text) {
    LOCUS_CHECK(text.size() < static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
                "the text has " + std::to_string(text.size()) + " bytes, expected less than 2 GiB");
}

const icu::Normalizer2& normalizer(NormalForm form) {
    UErrorCode error = U_ZERO_ERROR;
    const icu::Normalizer2* found = form == NormalForm::nfc    ? icu::Normalizer2::getNFCInstance(error)
                                    : form == NormalForm::nfd  ? icu::Normalizer2::getNFDInstance(error)
                                    : form == NormalForm::nfkc ? icu::Normalizer2::getNFKCInstance(error)
                                                               : icu::Normalizer2::getNFKDInstance(error);
    if (U_FAILURE(error)) throw Error(Fault::unsupported, "ICU has no normal forms: its data is missing");
    return *found;
}

}  // namespace

std::string normalize(const std::string& text, NormalForm form) {
    check_length(text);
    UErrorCode error = U_ZERO_ERROR;
    std::string normal;
    const icu::UnicodeString changed = normalizer(form).normalize(icu::UnicodeString::fromUTF8(text), error);
    if (U_FAILURE(error)) throw Error(Fault::usage, std::string("the text has no normal form: ") + u_errorName(error));
    return changed.toUTF8String(normal);
}

std::string lower_case(const std::string& text) {
    check_length(text);
    std::string lowered;
    return icu::UnicodeString::fromUTF8(text).toLower(icu::Locale::getRoot()).toUTF8String(lowered);
}

std::string latin_letters(const std::string& text) {
    check_length(text);
    UErrorCode error = U_ZERO_ERROR;
    const std::unique_ptr<icu::Transliterator> spelling(
        icu::Transliterator::createInstance("Any-Latin; Latin-ASCII", UTRANS_FORWARD, error));
    if (U_FAILURE(error) || !spelling)
        throw Error(Fault::unsupported, "ICU cannot spell in Latin letters: its data is missing");
    icu::UnicodeString letters = icu::UnicodeString::fromUTF8(text);
    spelling->transliterate(letters);
    std::string spelt;
    return letters.toUTF8String(spelt);
}

char32_t next_character(std::string_view text, std::size_t& at) {
    UChar32 character = 0;
    U8_NEXT_OR_FFFD(text.data(), at, text.size(), character);
    return static_cast<char32_t>(character);
}

char32_t previous_character(std::string_view text, std::size_t at) {
    UChar32 character = 0;
    const std::size_t window = std::min<std::size_t>(at, U8_MAX_LENGTH);  // ICU counts backwards in 32 bits
    auto place = static_cast<std::int32_t>(window);
    U8_PREV_OR_FFFD(text.data() + (at - window), 0, place, character);
    return static_cast<char32_t>(character);
}

void append_character(std::string& text, char32_t character) {
    char bytes[U8_MAX_LENGTH];
    std::size_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, code_point(character));
    text.append(bytes, size);
}

bool is_white_space(char32_t character) { return u_isUWhiteSpace(code_point(character)); }
bool is_python_space(char32_t character) {
    return is_white_space(character) || (character >= 0x1C && character <= 0x1F);
}
bool is_mark(char32_t character) { return U_GET_GC_MASK(code_point(character)) & U_GC_M_MASK; }
bool is_nonspacing_mark(char32_t character) { return u_charType(code_point(character)) == U_NON_SPACING_MARK; }
bool is_combining(char32_t character) { return u_getCombiningClass(code_point(character)) != 0; }
bool is_number(char32_t character) { return U_GET_GC_MASK(code_point(character)) & U_GC_N_MASK; }
bool is_unicode_punctuation(char32_t character) { return U_GET_GC_MASK(code_point(character)) & U_GC_P_MASK; }
bool is_control(char32_t character) {
    return U_GET_GC_MASK(code_point(character)) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK | U_GC_CS_MASK);
}
bool is_unassigned(char32_t character) { return u_charType(code_point(character)) == U_UNASSIGNED; }
bool is_han(char32_t character) {
    UErrorCode error = U_ZERO_ERROR;
    return uscript_getScript(code_point(character), &error) == USCRIPT_HAN;
}
bool is_word_character(char32_t character) {
    return u_hasBinaryProperty(code_point(character), UCHAR_ALPHABETIC) ||
           u_hasBinaryProperty(code_point(character), UCHAR_JOIN_CONTROL) ||
           (U_GET_GC_MASK(code_point(character)) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK));
}

// --- UTF-8 -----------------------------------------------------------------------------------------------------------

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

#include "core/text/statistics/words.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/localpointer.h>
#include <unicode/normalizer2.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "core/text/tokenizers/utf8.h"

namespace locus {

namespace {

void check_icu(UErrorCode status, const char* what) {
    if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU: ") + what + ": " + u_errorName(status));
}

/// Calls visit(piece, rule status) for each piece between two boundaries.
template <class Visit>
void for_each_piece(const std::string& text, UBreakIteratorType kind, Visit visit) {
    LOCUS_CHECK(text.size() <= std::numeric_limits<std::int32_t>::max(),
                "a text of " + std::to_string(text.size()) + " bytes, expected fewer than 2^31");
    check_utf8(text);
    UErrorCode status = U_ZERO_ERROR;
    const icu::LocalUTextPointer opened(
        utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status));
    const icu::LocalUBreakIteratorPointer owner(ubrk_open(kind, "", nullptr, 0, &status));
    UBreakIterator* const iterator = owner.getAlias();
    ubrk_setUText(iterator, opened.getAlias(), &status);
    check_icu(status, "the rules of word breaks");
    for (std::int32_t start = ubrk_first(iterator), end = ubrk_next(iterator); end != UBRK_DONE;
         start = end, end = ubrk_next(iterator))
        visit(text.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start)),
              ubrk_getRuleStatus(iterator));
}

bool is_blank_character(const std::string& character) {
    std::int32_t at = 0;
    UChar32 first = 0;
    U8_NEXT(character.data(), at, static_cast<std::int32_t>(character.size()), first);
    return u_isUWhiteSpace(first);
}

}  // namespace

std::string normalise_text(const std::string& text, bool keep_case) {
    LOCUS_CHECK(text.size() <= std::numeric_limits<std::int32_t>::max() / 4,
                "a text of " + std::to_string(text.size()) + " bytes, expected fewer than 2^29");
    check_utf8(text);
    UErrorCode status = U_ZERO_ERROR;
    std::string lowered;
    if (!keep_case) {
        icu::StringByteSink<std::string> sink(&lowered);
        icu::CaseMap::utf8ToLower("", 0, text, sink, nullptr, status);
        check_icu(status, "lower case");
    }
    const icu::Normalizer2* const composer = icu::Normalizer2::getNFCInstance(status);
    check_icu(status, "the composed form");
    std::string composed;
    icu::StringByteSink<std::string> sink(&composed);
    composer->normalizeUTF8(0, keep_case ? text : lowered, sink, nullptr, status);
    check_icu(status, "the composed form");
    return composed;
}

Document split_words(const std::string& text) {
    Document words;
    for_each_piece(text, UBRK_WORD, [&](std::string piece, std::int32_t rule) {
        if (rule >= UBRK_WORD_NONE_LIMIT) words.push_back(std::move(piece));
    });
    return words;
}

std::vector<std::string> split_characters(const std::string& text) {
    std::vector<std::string> characters;
    bool space = false;
    for_each_piece(text, UBRK_CHARACTER, [&](std::string piece, std::int32_t) {
        if (is_blank_character(piece)) {
            space = !characters.empty();
            return;
        }
        if (space) characters.emplace_back(" ");
        space = false;
        characters.push_back(std::move(piece));
    });
    return characters;
}

}  // namespace locus

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
#include <iterator>
#include <limits>
#include <stdexcept>
#include <unordered_set>

#include "core/text/statistics/ngrams.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

Index WordList::add(const std::string& word) {
    const auto [place, is_new] = numbers_.try_emplace(word, size());
    if (is_new) words_.push_back(word);
    return place->second;
}

std::optional<Index> WordList::find(const std::string& word) const {
    const auto place = numbers_.find(word);
    if (place == numbers_.end()) return std::nullopt;
    return place->second;
}

std::vector<Counted> count_each(const std::vector<std::string>& texts) {
    WordList distinct;
    std::vector<Counted> counted;
    for (const std::string& text : texts) {
        const auto number = static_cast<std::size_t>(distinct.add(text));
        if (number == counted.size()) counted.push_back({text, 0});
        ++counted[number].count;
    }
    return counted;
}

void sort_by_count(std::vector<Counted>& counted) {
    std::stable_sort(counted.begin(), counted.end(),
                     [](const Counted& a, const Counted& b) { return a.count > b.count; });
}

// --- from a text to words --------------------------------------------------------------------------------------------

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

// --- words so common that they say nothing about a document ----------------------------------------------------------

const std::unordered_set<std::string>& english_stop_words() {
    // clang-format off
    static const std::unordered_set<std::string> words = {
        "a", "an", "the", "this", "that", "these", "those", "each", "every", "some", "any", "no", "all", "both", "such",
        "i", "me", "my", "mine", "you", "your", "yours", "he", "him", "his", "she", "her", "hers", "it", "its", "we",
        "us", "our", "ours", "they", "them", "their", "theirs", "myself", "yourself", "himself", "herself", "itself",
        "ourselves", "yourselves", "themselves", "who", "whom", "whose", "which", "what",
        "about", "above", "after", "against", "among", "around", "as", "at", "before", "behind", "below", "beside",
        "between", "by", "down", "during", "for", "from", "in", "into", "near", "of", "off", "on", "onto", "out",
        "over", "through", "to", "toward", "under", "until", "up", "upon", "with", "within", "without",
        "and", "but", "or", "nor", "so", "yet", "if", "because", "although", "though", "while", "when", "where",
        "whether", "than", "then", "there", "here", "how", "why",
        "be", "am", "is", "are", "was", "were", "been", "being", "have", "has", "had", "having", "do", "does", "did",
        "doing", "done", "can", "could", "may", "might", "must", "shall", "should", "will", "would",
        "not", "only", "also", "too", "very", "just", "again", "once", "more", "most", "other", "own", "same",
        "i'm", "you're", "he's", "she's", "it's", "we're", "they're", "i've", "we've", "they've", "isn't", "aren't",
        "wasn't", "weren't", "don't", "doesn't", "didn't", "can't", "couldn't", "won't", "wouldn't", "shouldn't"};
    // clang-format on
    return words;
}

Document without_words(const Document& document, const std::unordered_set<std::string>& unwanted) {
    Document kept;
    std::copy_if(document.begin(), document.end(), std::back_inserter(kept),
                 [&](const std::string& word) { return !unwanted.contains(word); });
    return kept;
}

// --- spelling --------------------------------------------------------------------------------------------------------

namespace {

/// Sorted, so that two lists can be merged.
std::vector<std::string> sorted_ngrams(const std::string& word, Index n) {
    std::vector<std::string> grams = character_ngrams(word, n);
    if (grams.empty()) grams.push_back(word);
    std::sort(grams.begin(), grams.end());
    return grams;
}

double dice(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> shared;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared));
    return 2 * static_cast<double>(shared.size()) / static_cast<double>(a.size() + b.size());
}

}  // namespace

double ngram_similarity(const std::string& a, const std::string& b, Index n) {
    return dice(sorted_ngrams(a, n), sorted_ngrams(b, n));
}

std::vector<std::string> unknown_ngrams(const std::string& word, const std::vector<Counted>& known, Index n) {
    std::unordered_set<std::string> seen;
    for (const Counted& one : known)
        for (std::string& gram : character_ngrams(one.text, n)) seen.insert(std::move(gram));
    std::vector<std::string> unknown;
    for (const std::string& gram : character_ngrams(word, n))
        if (!seen.contains(gram)) unknown.push_back(gram);
    return unknown;
}

std::vector<Suggestion> suggest_words(const std::string& word, const std::vector<Counted>& known, Index n) {
    const std::vector<std::string> grams = sorted_ngrams(word, n);
    std::vector<Suggestion> suggestions;
    for (const Counted& one : known)
        if (const double similarity = dice(grams, sorted_ngrams(one.text, n)); similarity > 0)
            suggestions.push_back({one.text, similarity, one.count});
    std::stable_sort(suggestions.begin(), suggestions.end(), [](const Suggestion& a, const Suggestion& b) {
        return a.similarity != b.similarity ? a.similarity > b.similarity : a.count > b.count;
    });
    return suggestions;
}

}  // namespace locus

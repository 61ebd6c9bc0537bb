#include "core/text/tokenizers/pre_tokenizers.h"

#include <unicode/regex.h>
#include <unicode/utext.h>
#include <algorithm>
#include <array>
#include <memory>

#include "core/check.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

// --- patterns --------------------------------------------------------------------------------------------------------

namespace {

/// Matches join the span before them, unless that is a match too and has already joined one.
std::vector<TextSpan> merged(const std::vector<TextSpan>& spans, Behaviour behaviour) {
    std::vector<TextSpan> joined;
    bool previous = false;
    for (const TextSpan& span : spans) {
        const bool joins = behaviour == Behaviour::contiguous ? span.match == previous : span.match && !previous;
        if (joins && !joined.empty())
            joined.back() = {std::min(joined.back().begin, span.begin), std::max(joined.back().end, span.end), false};
        else
            joined.push_back(span);
        previous = span.match;
    }
    return joined;
}

}  // namespace

Pattern each_character(std::function<bool(char32_t)> wanted) {
    return [wanted = std::move(wanted)](std::string_view text) {
        std::vector<TextSpan> spans;
        std::size_t begin = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t start = at;
            if (!wanted(next_character(text, at))) continue;
            if (start > begin) spans.push_back({begin, start, false});
            spans.push_back({start, at, true});
            begin = at;
        }
        if (begin < text.size()) spans.push_back({begin, text.size(), false});
        return spans;
    };
}

Pattern each_occurrence(std::string string) {
    return [string = std::move(string)](std::string_view text) {
        std::vector<TextSpan> spans;
        std::size_t begin = 0;
        for (std::size_t at = text.find(string); at != std::string_view::npos; at = text.find(string, begin)) {
            if (at > begin) spans.push_back({begin, at, false});
            begin = at + string.size();
            spans.push_back({at, begin, true});
        }
        if (begin < text.size()) spans.push_back({begin, text.size(), false});
        return spans;
    };
}

std::vector<std::string> split(std::string_view text, const Pattern& pattern, Behaviour behaviour, bool invert) {
    std::vector<TextSpan> spans = pattern(text);
    if (invert)
        for (TextSpan& span : spans) span.match = !span.match;
    if (behaviour == Behaviour::removed) {
        std::erase_if(spans, [](const TextSpan& span) { return span.match; });
    } else if (behaviour == Behaviour::merged_with_next) {
        std::reverse(spans.begin(), spans.end());
        spans = merged(spans, behaviour);
        std::reverse(spans.begin(), spans.end());
    } else if (behaviour != Behaviour::isolated) {
        spans = merged(spans, behaviour);
    }
    std::vector<std::string> words;
    for (const TextSpan& span : spans)
        if (span.end > span.begin) words.emplace_back(text.substr(span.begin, span.end - span.begin));
    return words;
}

// --- regular expressions ---------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kLongest = 10'000;    // bytes of an expression
constexpr std::int32_t kMostSteps = 1'000;  // of ICU's time limit, each about ten thousand steps of the engine

/// A view of UTF-8 bytes for ICU, closed at the end.
struct View {
    UText text = UTEXT_INITIALIZER;
    explicit View(std::string_view bytes) {
        UErrorCode error = U_ZERO_ERROR;
        utext_openUTF8(&text, bytes.data(), static_cast<std::int64_t>(bytes.size()), &error);
    }
    ~View() { utext_close(&text); }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
};

std::vector<TextSpan> matches(const icu::RegexPattern& pattern, const std::string& location, std::string_view text) {
    UErrorCode error = U_ZERO_ERROR;
    View view(text);
    const std::unique_ptr<icu::RegexMatcher> matcher(pattern.matcher(error));
    std::vector<TextSpan> spans;
    std::size_t begin = 0;
    if (text.empty()) return spans;
    if (U_SUCCESS(error)) {
        matcher->setTimeLimit(kMostSteps, error);
        matcher->reset(&view.text);
    }
    while (U_SUCCESS(error) && matcher->find(error)) {
        const auto start = static_cast<std::size_t>(matcher->start64(error));
        const auto end = static_cast<std::size_t>(matcher->end64(error));
        if (start == end && !spans.empty() && start == begin) continue;  // Oniguruma's search does the same
        if (start > begin) spans.push_back({begin, start, false});
        spans.push_back({start, end, true});
        begin = end;
    }
    if (U_FAILURE(error))
        throw Error(Fault::unsupported,
                    location + ": ICU cannot match the expression here (" + u_errorName(error) + ")");
    if (begin < text.size()) spans.push_back({begin, text.size(), false});
    return spans;
}

}  // namespace

namespace {

struct Replacement {
    std::string_view written, inside, outside;  // in a set of characters, and elsewhere
};

constexpr Replacement kReplacements[] = {
    {"[:punct:]", "[\\p{P}\\p{S}]", ""},
    {"[:^punct:]", "[^\\p{P}\\p{S}]", ""},
    {"\\w", "[\\w--[\\u200C\\u200D]]", "[[\\w\\u00B2\\u00B3\\u00B9\\u00BC-\\u00BE]--[\\u200C\\u200D]]"},
    {"\\W", "[^[\\w--[\\u200C\\u200D]]]", "[^[\\w\\u00B2\\u00B3\\u00B9\\u00BC-\\u00BE]--[\\u200C\\u200D]]"},
};

/// The part of an expression that is copied as it is: an escape, a class such as [:alpha:], or one sign.
std::size_t copied_length(std::string_view rest, bool in_set) {
    if (rest.front() == '\\') return std::min<std::size_t>(2, rest.size());
    const std::size_t end = in_set && rest.starts_with("[:") ? rest.find(":]") : std::string_view::npos;
    return end == std::string_view::npos ? 1 : end + 2;
}

/// The first sign of the expression that ICU would read as something else; empty if there is none.
std::string_view read_otherwise(std::string_view rest, bool in_set) {
    for (const std::string_view escape : {"\\h", "\\H", "\\O", "\\K"})
        if (rest.starts_with(escape)) return escape;
    if (in_set || !rest.starts_with("(?")) return {};
    const std::size_t end = std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", 2), rest.size());
    const std::string_view options = rest.substr(0, end);
    return options.find('m') == std::string_view::npos ? std::string_view() : options;
}

}  // namespace

std::string icu_expression(std::string_view text, const std::string& location) {
    std::string changed;
    int depth = 0;  // of sets in sets
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at), unknown = read_otherwise(rest, depth > 0);
        if (!unknown.empty())
            throw Error(Fault::unsupported, location + ": the expression has " + std::string(unknown) +
                                                ", which ICU reads in another way than Oniguruma, expected one "
                                                "without it");
        const auto found = std::find_if(std::begin(kReplacements), std::end(kReplacements), [&](const auto& one) {
            return rest.starts_with(one.written) && (depth > 0 || !one.outside.empty());
        });
        if (found != std::end(kReplacements)) {
            changed += depth > 0 ? found->inside : found->outside;
            at += found->written.size();
            continue;
        }
        const std::size_t length = copied_length(rest, depth > 0);
        if (length == 1) depth += rest.front() == '[' ? 1 : rest.front() == ']' && depth > 0 ? -1 : 0;
        changed += rest.substr(0, length);
        at += length;
    }
    return changed;
}

Pattern expression(const std::string& text, const std::string& location) {
    if (text.empty() || text.size() > kLongest)
        throw Error(Fault::unreadable, location + ": an expression of " + std::to_string(text.size()) +
                                           " bytes, expected 1 to " + std::to_string(kLongest));
    UErrorCode error = U_ZERO_ERROR;
    UParseError where;
    const std::shared_ptr<const icu::RegexPattern> pattern(icu::RegexPattern::compile(
        icu::UnicodeString::fromUTF8(text), UREGEX_MULTILINE | UREGEX_UNIX_LINES, where, error));
    if (U_FAILURE(error))
        throw Error(Fault::unreadable,
                    location + ": not a regular expression that ICU reads (" + u_errorName(error) + ")");
    return [pattern, location](std::string_view one) { return matches(*pattern, location, one); };
}

// --- BERT ------------------------------------------------------------------------------------------------------------

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

// --- RoFormer --------------------------------------------------------------------------------------------------------

namespace {

bool is_ascii_sign_of_word(char sign) {
    return (sign >= '0' && sign <= '9') || (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z');
}

/// How long the word of jieba's dictionary is that stands here, or the line end that it takes whole; 0 for neither.
std::size_t dictionary_word(std::string_view rest) {
    for (const std::string_view word : {"c#", "C#", "c++", "C++", "AT&T", "\r\n"})
        if (rest.starts_with(word)) return word.size();
    return 0;
}

}  // namespace

std::vector<std::string> jieba_words(std::string_view text) {
    std::vector<std::string> words;
    bool grows = false;  // the last word is a run of letters and digits
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        std::size_t length = dictionary_word(rest);
        const bool sign = length == 0 && is_ascii_sign_of_word(rest.front());
        if (length == 0) length = std::min(character_bytes(rest.front()), rest.size());
        if (sign && grows)
            words.back() += rest.front();
        else
            words.emplace_back(rest.substr(0, length));
        grows = sign;
        at += length;
    }
    return words;
}

std::size_t count_han(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size();) count += is_han(next_character(text, at));
    return count;
}

void check_no_han(std::string_view text) {
    if (count_han(text) > 0)
        throw Error(Fault::unsupported,
                    "the text has Han characters, which RoFormer cuts into words with jieba; locus trace and locus "
                    "view take token ids instead: --tokens");
}

// --- GPT-2 -----------------------------------------------------------------------------------------------------------

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
    characters.reserve(2 * bytes.size());
    for (const char byte : bytes) characters += alphabet()[static_cast<unsigned char>(byte)];
    return characters;
}

}  // namespace locus

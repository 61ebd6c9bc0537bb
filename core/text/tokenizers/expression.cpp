#include "core/text/tokenizers/expression.h"

#include <unicode/regex.h>
#include <unicode/utext.h>

#include <memory>

#include "core/check.h"

namespace locus {

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

std::vector<Span> matches(const icu::RegexPattern& pattern, const std::string& location, std::string_view text) {
    UErrorCode error = U_ZERO_ERROR;
    View view(text);
    const std::unique_ptr<icu::RegexMatcher> matcher(pattern.matcher(error));
    std::vector<Span> spans;
    std::size_t begin = 0;
    if (U_SUCCESS(error)) {
        matcher->setTimeLimit(kMostSteps, error);
        matcher->reset(&view.text);
    }
    while (U_SUCCESS(error) && matcher->find(error)) {
        const auto start = static_cast<std::size_t>(matcher->start64(error));
        const auto end = static_cast<std::size_t>(matcher->end64(error));
        if (start == end) continue;
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

}  // namespace locus

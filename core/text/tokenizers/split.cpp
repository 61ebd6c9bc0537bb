#include "core/text/tokenizers/split.h"

#include <algorithm>

#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

/// Matches join the span in front of them, unless that is a match too and has already joined one.
std::vector<Span> merged(const std::vector<Span>& spans, Behaviour behaviour) {
    std::vector<Span> joined;
    bool previous = false;
    for (const Span& span : spans) {
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
        std::vector<Span> spans;
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
        std::vector<Span> spans;
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
    std::vector<Span> spans = pattern(text);
    if (invert)
        for (Span& span : spans) span.match = !span.match;
    if (behaviour == Behaviour::removed) {
        std::erase_if(spans, [](const Span& span) { return span.match; });
    } else if (behaviour == Behaviour::merged_with_next) {
        std::reverse(spans.begin(), spans.end());
        spans = merged(spans, behaviour);
        std::reverse(spans.begin(), spans.end());
    } else if (behaviour != Behaviour::isolated) {
        spans = merged(spans, behaviour);
    }
    std::vector<std::string> words;
    for (const Span& span : spans)
        if (span.end > span.begin) words.emplace_back(text.substr(span.begin, span.end - span.begin));
    return words;
}

}  // namespace locus

#include "core/text/statistics/ngrams.h"

#include "core/text/statistics/words.h"

namespace locus {

namespace {

std::vector<std::string> windows(const std::vector<std::string>& units, Index n, const std::string& between) {
    LOCUS_CHECK(n >= 1, "n-grams: n is " + std::to_string(n) + ", expected 1 or more");
    std::vector<std::string> grams;
    const auto length = static_cast<std::size_t>(n);
    for (std::size_t start = 0; start + length <= units.size(); ++start) {
        std::string gram = units[start];
        for (std::size_t at = start + 1; at < start + length; ++at) gram += between + units[at];
        grams.push_back(std::move(gram));
    }
    return grams;
}

}  // namespace

std::vector<std::string> word_ngrams(const Document& document, Index n) { return windows(document, n, " "); }

std::vector<std::string> character_ngrams(const std::string& text, Index n) {
    return windows(split_characters(text), n, "");
}

namespace {

/// One key for several words: no word holds a line feed.
std::string key_of(Document::const_iterator first, Document::const_iterator last) {
    std::string key;
    for (; first != last; ++first) key += *first + '\n';
    return key;
}

}  // namespace

NextWordTable::NextWordTable(const std::vector<Document>& documents, Index n) : n_(n) {
    LOCUS_CHECK(n >= 1, "NextWordTable: n is " + std::to_string(n) + ", expected 1 or more");
    for (const Document& document : documents)
        for (auto word = document.begin(); word != document.end(); ++word)
            if (word - document.begin() >= n - 1) followers_[key_of(word - (n - 1), word)].push_back(*word);
}

std::vector<NextWord> NextWordTable::after(const Document& context) const {
    LOCUS_CHECK(static_cast<Index>(context.size()) >= n_ - 1, "NextWordTable: a context of " +
                                                                  std::to_string(context.size()) + " words, expected " +
                                                                  std::to_string(n_ - 1) + " or more");
    const auto found = followers_.find(key_of(context.end() - (n_ - 1), context.end()));
    if (found == followers_.end()) return {};
    std::vector<Counted> counted = count_each(found->second);
    sort_by_count(counted);
    std::vector<NextWord> next;
    for (const Counted& one : counted)
        next.push_back(
            {one.text, one.count, static_cast<double>(one.count) / static_cast<double>(found->second.size())});
    return next;
}

}  // namespace locus

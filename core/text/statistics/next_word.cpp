#include "core/text/statistics/next_word.h"

namespace locus {

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

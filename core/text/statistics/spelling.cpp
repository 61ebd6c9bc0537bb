#include "core/text/statistics/spelling.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "core/text/statistics/ngrams.h"

namespace locus {

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

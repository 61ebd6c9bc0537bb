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

}  // namespace locus

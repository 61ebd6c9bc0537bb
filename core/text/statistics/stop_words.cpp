#include "core/text/statistics/stop_words.h"

#include <algorithm>
#include <iterator>

namespace locus {

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

}  // namespace locus

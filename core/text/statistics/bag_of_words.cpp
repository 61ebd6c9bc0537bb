#include "core/text/statistics/bag_of_words.h"

namespace locus {

BagOfWords bag_of_words(const std::vector<Document>& documents) {
    LOCUS_CHECK(!documents.empty(), "bag_of_words: no documents, expected one or more");
    BagOfWords bag;
    std::vector<Eigen::Triplet<double>> ones;
    for (std::size_t row = 0; row < documents.size(); ++row)
        for (const std::string& word : documents[row])
            ones.emplace_back(static_cast<int>(row), static_cast<int>(bag.words.add(word)), 1.0);
    LOCUS_CHECK(bag.words.size() > 0, "bag_of_words: not one word in " + std::to_string(documents.size()) +
                                          (documents.size() == 1 ? " document" : " documents"));
    bag.counts.resize(static_cast<Index>(documents.size()), bag.words.size());
    bag.counts.setFromTriplets(ones.begin(), ones.end());  // adds up what falls on one place
    return bag;
}

CountedDocument count_words(const Document& document, const WordList& words) {
    CountedDocument counted{RowVector<double>::Zero(words.size()), 0};
    for (const std::string& word : document) {
        if (const auto column = words.find(word))
            ++counted.counts[*column];
        else
            ++counted.unknown;
    }
    return counted;
}

}  // namespace locus

#include "core/text/statistics/tf_idf.h"

#include <cmath>

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

// --- tf-idf ----------------------------------------------------------------------------------------------------------

namespace {

double logarithm(double value, LogBase base) {
    switch (base) {
        case LogBase::ten:
            return std::log10(value);
        case LogBase::natural:
            return std::log(value);
        case LogBase::two:
            return std::log2(value);
    }
    throw std::logic_error("a base that is none of the three");
}

}  // namespace

double inverse_document_frequency(Index documents, Index df, Idf form, LogBase base) {
    LOCUS_CHECK(documents >= 1,
                "inverse_document_frequency: documents is " + std::to_string(documents) + ", expected 1 or more");
    LOCUS_CHECK(df >= 0 && df <= documents, "inverse_document_frequency: df is " + std::to_string(df) +
                                                ", expected 0 to " + std::to_string(documents));
    const auto all = static_cast<double>(documents), holding = static_cast<double>(df);
    if (form == Idf::df_plus_one) return logarithm(all / (holding + 1), base);
    if (form == Idf::scikit_learn) return std::log((all + 1) / (holding + 1)) + 1;
    LOCUS_CHECK(df >= 1, "inverse_document_frequency: df is 0, and this form divides by it");
    return logarithm(form == Idf::plain ? all / holding : all / holding + 1, base);
}

SparseRows term_frequencies(const SparseRows& counts) {
    SparseRows frequencies = counts;
    for (Index row = 0; row < frequencies.rows(); ++row) {
        double sum = 0;
        for (SparseRows::InnerIterator cell(frequencies, row); cell; ++cell) sum += cell.value();
        for (SparseRows::InnerIterator cell(frequencies, row); cell; ++cell) cell.valueRef() /= sum;
    }
    return frequencies;
}

std::vector<Index> document_frequencies(const SparseRows& counts) {
    std::vector<Index> df(static_cast<std::size_t>(counts.cols()), 0);
    for (Index row = 0; row < counts.rows(); ++row)
        for (SparseRows::InnerIterator cell(counts, row); cell; ++cell)
            if (cell.value() != 0) ++df[static_cast<std::size_t>(cell.col())];
    return df;
}

RowVector<double> inverse_document_frequencies(const SparseRows& counts, Idf form, LogBase base) {
    const std::vector<Index> df = document_frequencies(counts);
    RowVector<double> idf(counts.cols());
    for (Index word = 0; word < idf.size(); ++word)
        idf[word] = inverse_document_frequency(counts.rows(), df[static_cast<std::size_t>(word)], form, base);
    return idf;
}

SparseRows tf_idf(const SparseRows& counts, Idf form, LogBase base) {
    const RowVector<double> idf = inverse_document_frequencies(counts, form, base);
    SparseRows weights = term_frequencies(counts);
    for (Index row = 0; row < weights.rows(); ++row)
        for (SparseRows::InnerIterator cell(weights, row); cell; ++cell) cell.valueRef() *= idf[cell.col()];
    return weights;
}

}  // namespace locus

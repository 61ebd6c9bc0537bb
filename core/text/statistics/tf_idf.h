#pragma once
// A text as the counts of its words (their order is gone), and how much each word says about it: frequent in it, rare
// elsewhere.  Spaerck Jones 1972.
#include <Eigen/SparseCore>
#include <string>
#include <vector>

#include "core/text/statistics/words.h"

namespace locus {

/// Rows that are mostly zeros: a text uses few of all words.
using SparseRows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

struct BagOfWords {
    WordList words;     // in the order of first occurrence
    SparseRows counts;  // [documents, words]
};

/// Counts of every word in every document.  A document without words is a row of zeros.
/// Throws Error(usage) if there are no documents, or not one word in all of them.
BagOfWords bag_of_words(const std::vector<Document>& documents);

/// Counts [words] of a document over words that are already known; the number of its words that are not.
struct CountedDocument {
    RowVector<double> counts;
    Index unknown = 0;
};
CountedDocument count_words(const Document& document, const WordList& words);

// --- tf-idf
// -----------------------------------------------------------------------------------------------------------

/// How the number of documents N and those that hold the word, df, become a weight.
enum class Idf {
    plain,         // log(N / df)
    as_printed,    // log(N / df + 1): a common printing of the smoothed form; still divides by df = 0
    df_plus_one,   // log(N / (df + 1)): what that printing means; negative for a word in all documents
    scikit_learn,  // ln((N + 1) / (df + 1)) + 1: never zero, always the natural logarithm
};

enum class LogBase { ten, natural, two };

/// The weight of a word that `df` of `documents` documents hold.
/// Throws Error(usage) unless 0 <= df <= documents, documents >= 1, and df >= 1 where the form divides by it.
double inverse_document_frequency(Index documents, Index df, Idf form = Idf::plain, LogBase base = LogBase::ten);

/// Share of each word among the words of its document: rows of counts [documents, words] divided by their sums.  A row
/// of zeros stays one.
SparseRows term_frequencies(const SparseRows& counts);

/// In how many documents each word occurs, [words].
std::vector<Index> document_frequencies(const SparseRows& counts);

/// inverse_document_frequency of each word, [words].
RowVector<double> inverse_document_frequencies(const SparseRows& counts, Idf form = Idf::plain,
                                               LogBase base = LogBase::ten);

/// tf_idf[document, word] = term frequency * inverse document frequency, [documents, words].
SparseRows tf_idf(const SparseRows& counts, Idf form = Idf::plain, LogBase base = LogBase::ten);

}  // namespace locus

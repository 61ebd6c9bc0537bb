#pragma once
// A text as the counts of its words; their order is gone.
#include <Eigen/SparseCore>

#include <string>
#include <vector>

#include "core/text/statistics/word_list.h"

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

}  // namespace locus

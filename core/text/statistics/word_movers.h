#pragma once
// How far must the words of one document travel to become those of another?  Kusner et al. 2015.
#include "core/text/statistics/transport.h"
#include "core/text/statistics/word_vectors.h"

namespace locus {

/// The distinct words of a document that have a vector.
struct PlacedWords {
    std::vector<Counted> words;
    Matrix<double> vectors;            // [words, width], one row per word
    std::vector<std::string> unknown;  // distinct words without a vector

    /// How many words, repetitions counted.
    Index total() const;
    /// Share of each word, [words]; sums to 1.
    RowVector<double> weights() const;
};

/// Looks up every word.  Words without a vector go to `unknown` and carry no weight.
PlacedWords place_words(const Document& document, const WordVectors& vectors);

struct WordMovers {
    double distance = 0;
    Matrix<double> flow;   // [words of a, words of b] share of the whole; rows sum to a.weights(), columns to b's
    Matrix<double> costs;  // [words of a, words of b] Euclidean distances
};

/// Word mover's distance: the least sum of flow * distance that turns one document into the other; exact.  Time grows
/// with the cube of the number of distinct words.
/// Throws Error(usage) if a document has no known word, the widths differ or a vector is not finite.
WordMovers word_movers_distance(const PlacedWords& a, const PlacedWords& b);

/// The relaxation: each word goes to its nearest one, whoever else goes there.  Both are at most the exact distance.
struct RelaxedWordMovers {
    double from_a = 0;  // every word of a travels
    double from_b = 0;
    double larger() const;
};
RelaxedWordMovers relaxed_word_movers_distance(const PlacedWords& a, const PlacedWords& b);

/// Distance of the two mean vectors: cheaper still, and at most the exact distance.
double centroid_distance(const PlacedWords& a, const PlacedWords& b);

}  // namespace locus

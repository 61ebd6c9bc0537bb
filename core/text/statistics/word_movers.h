#pragma once
// How far must the words of one document travel to become those of another?  Kusner et al. 2015: a transport problem.
#include <cstdint>
#include <vector>

#include "core/cancel.h"
#include "core/tensor.h"
#include "core/text/statistics/word_vectors.h"

namespace locus {

// --- transport -------------------------------------------------------------------------------------------------------
// The cheapest way to carry goods from where they are to where they are wanted: minimum-cost flow between two sides.
// Successive shortest paths with prices (Edmonds and Karp 1972); one Dijkstra search per path, in whole units.

struct TransportPlan {
    /// [sources, sinks] units carried; rows sum to the supplies and columns to the demands, exactly.
    Matrix<std::int64_t> units;
    double cost = 0;  // sum of units * costs
    /// What a unit is worth at each source and sink.  No pair has source_price + sink_price > cost (up to rounding),
    /// and where units flow they are equal: the proof that no plan is cheaper.
    RowVector<double> source_prices, sink_prices;
};

/// Carries all of supplies [n] to demands [m] at the least sum of costs [n, m].
/// Throws Error(usage) unless supplies and demands are 0 or more, have the same sum below 2^53, and the costs are
/// finite and 0 or more.
/// `stop` is asked before every source and ends this by throwing Cancelled.
TransportPlan cheapest_transport(const std::vector<std::int64_t>& supplies, const std::vector<std::int64_t>& demands,
                                 const ConstView<double>& costs, const CancelToken& stop = {});

// --- word mover's distance -------------------------------------------------------------------------------------------

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
/// Throws Error(usage) if a document has no known word, the widths differ or a vector is not finite.  `stop` is asked
/// before every word of a and ends this by throwing Cancelled.
WordMovers word_movers_distance(const PlacedWords& a, const PlacedWords& b, const CancelToken& stop = {});

/// The relaxation: each word goes to its nearest one, no matter which others go there.  Both are at most the exact
/// distance.  Throws as word_movers_distance.
struct RelaxedWordMovers {
    double from_a = 0;  // every word of a travels
    double from_b = 0;
    double larger() const;
};
RelaxedWordMovers relaxed_word_movers_distance(const PlacedWords& a, const PlacedWords& b,
                                               const CancelToken& stop = {});

/// Euclidean distances of one word of a to every word of b, [words of b].
RowVector<double> distances_from(const PlacedWords& a, Index word, const PlacedWords& b);

/// Distance of the two mean vectors: cheaper still, and at most the exact distance.
double centroid_distance(const PlacedWords& a, const PlacedWords& b);

}  // namespace locus

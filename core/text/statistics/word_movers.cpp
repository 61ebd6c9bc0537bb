#include "core/text/statistics/word_movers.h"

#include <algorithm>
#include <numeric>

namespace locus {

namespace {

void check_placed(const char* who, const PlacedWords& a, const PlacedWords& b) {
    LOCUS_CHECK(!a.words.empty() && !b.words.empty(),
                std::string(who) + ": a document has no word with a vector, expected one or more");
    LOCUS_CHECK(a.vectors.cols() == b.vectors.cols(), std::string(who) + ": vectors of widths " +
                                                          std::to_string(a.vectors.cols()) + " and " +
                                                          std::to_string(b.vectors.cols()) + ", expected the same");
    LOCUS_CHECK(a.vectors.allFinite() && b.vectors.allFinite(),
                std::string(who) + ": a vector holds a value that is not finite");
}

/// Differences first: a word is at distance 0 from itself, which the expanded square would miss by rounding.
Matrix<double> distances_between(const PlacedWords& a, const PlacedWords& b) {
    Matrix<double> distances(a.vectors.rows(), b.vectors.rows());
    for (Index i = 0; i < distances.rows(); ++i)
        distances.row(i) = (b.vectors.rowwise() - a.vectors.row(i)).rowwise().norm().transpose();
    return distances;
}

/// Counts of one document times the total of the other: shares as whole numbers with one denominator.
std::vector<std::int64_t> in_units(const PlacedWords& document, Index factor) {
    std::vector<std::int64_t> units;
    for (const Counted& word : document.words) units.push_back(word.count * factor);
    return units;
}

}  // namespace

Index PlacedWords::total() const {
    return std::accumulate(words.begin(), words.end(), Index{0},
                           [](Index sum, const Counted& word) { return sum + word.count; });
}

RowVector<double> PlacedWords::weights() const {
    RowVector<double> shares(static_cast<Index>(words.size()));
    const auto all = static_cast<double>(total());
    for (Index n = 0; n < shares.size(); ++n)
        shares[n] = static_cast<double>(words[static_cast<std::size_t>(n)].count) / all;
    return shares;
}

PlacedWords place_words(const Document& document, const WordVectors& vectors) {
    PlacedWords placed;
    std::vector<Index> rows;
    for (const Counted& word : count_each(document)) {
        if (const auto row = vectors.words.find(word.text)) {
            placed.words.push_back(word);
            rows.push_back(*row);
        } else {
            placed.unknown.push_back(word.text);
        }
    }
    placed.vectors = vectors.vectors(rows, Eigen::all);
    return placed;
}

WordMovers word_movers_distance(const PlacedWords& a, const PlacedWords& b) {
    check_placed("word_movers_distance", a, b);
    const Index common = std::gcd(a.total(), b.total());
    const Index units = a.total() / common * b.total();
    WordMovers movers;
    movers.costs = distances_between(a, b);
    const TransportPlan plan =
        cheapest_transport(in_units(a, b.total() / common), in_units(b, a.total() / common), movers.costs);
    movers.flow = plan.units.cast<double>() / static_cast<double>(units);
    movers.distance = plan.cost / static_cast<double>(units);
    return movers;
}

double RelaxedWordMovers::larger() const { return std::max(from_a, from_b); }

RelaxedWordMovers relaxed_word_movers_distance(const PlacedWords& a, const PlacedWords& b) {
    check_placed("relaxed_word_movers_distance", a, b);
    const Matrix<double> costs = distances_between(a, b);
    return {a.weights().dot(costs.rowwise().minCoeff().transpose()), b.weights().dot(costs.colwise().minCoeff())};
}

double centroid_distance(const PlacedWords& a, const PlacedWords& b) {
    check_placed("centroid_distance", a, b);
    return (a.weights() * a.vectors - b.weights() * b.vectors).norm();
}

}  // namespace locus

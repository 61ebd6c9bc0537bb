#include "core/text/statistics/word_movers.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/products.h"

namespace locus {

// --- transport -------------------------------------------------------------------------------------------------------

namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr Index kNone = -1;

std::int64_t checked_sum(const char* what, const std::vector<std::int64_t>& units) {
    constexpr std::int64_t kMostUnits = std::int64_t{1} << 53;  // sums in double stay exact
    std::int64_t sum = 0;
    for (const std::int64_t one : units) {
        LOCUS_CHECK(one >= 0, std::string("cheapest_transport: one of the ") + what + " is " + std::to_string(one) +
                                  ", expected 0 or more");
        LOCUS_CHECK(one < kMostUnits - sum, std::string("cheapest_transport: the ") + what + " sum to 2^53 or more");
        sum += one;
    }
    return sum;
}

void check_task(const std::vector<std::int64_t>& supplies, const std::vector<std::int64_t>& demands,
                const ConstView<double>& costs) {
    LOCUS_CHECK(
        costs.rows() == static_cast<Index>(supplies.size()) && costs.cols() == static_cast<Index>(demands.size()),
        "cheapest_transport: costs are " + to_string({costs.rows(), costs.cols()}) + ", expected " +
            to_string({static_cast<Index>(supplies.size()), static_cast<Index>(demands.size())}));
    const std::int64_t supplied = checked_sum("supplies", supplies), demanded = checked_sum("demands", demands);
    LOCUS_CHECK(supplied == demanded, "cheapest_transport: supplies sum to " + std::to_string(supplied) +
                                          " and demands to " + std::to_string(demanded) + ", expected the same");
    LOCUS_CHECK(costs.size() == 0 || (costs.allFinite() && costs.minCoeff() >= 0),
                "cheapest_transport: a cost is negative or not finite");
}

/// The plan as it grows, and what one search has found.
class Carrier {
public:
    Carrier(const std::vector<std::int64_t>& demands, const ConstView<double>& costs)
        : costs_(costs), wanted_(demands) {
        plan_.units = Matrix<std::int64_t>::Zero(costs.rows(), costs.cols());
        plan_.source_prices = RowVector<double>::Zero(costs.rows());
        plan_.sink_prices = RowVector<double>::Zero(costs.cols());
    }

    void carry_all(Index source, std::int64_t supply) {
        while (supply > 0) {
            const Index sink = search(source);
            raise_prices(distance_to_sink_[sink]);
            supply -= carry(source, sink, supply);
        }
    }

    TransportPlan finish() {
        plan_.cost = (plan_.units.cast<double>().array() * costs_.array()).sum();
        return std::move(plan_);
    }

private:
    /// Dijkstra over the residual network: forward along every pair, back along pairs that carry something, at reduced
    /// costs, which the prices keep at 0 or more.  Returns the nearest sink that still wants units.
    Index search(Index start) {
        distance_to_source_ = RowVector<double>::Constant(costs_.rows(), kFar);
        distance_to_sink_ = RowVector<double>::Constant(costs_.cols(), kFar);
        source_before_.assign(static_cast<std::size_t>(costs_.cols()), kNone);
        sink_before_.assign(static_cast<std::size_t>(costs_.rows()), kNone);
        settled_.assign(static_cast<std::size_t>(costs_.cols()), false);
        distance_to_source_[start] = 0;
        reach_sinks(start);
        while (true) {
            const Index sink = nearest_open_sink();
            if (wanted_[static_cast<std::size_t>(sink)] > 0) return sink;
            settled_[static_cast<std::size_t>(sink)] = true;
            for (Index source = 0; source < costs_.rows(); ++source) {
                if (plan_.units(source, sink) == 0 || distance_to_source_[source] != kFar) continue;
                distance_to_source_[source] = distance_to_sink_[sink];  // a pair in use has reduced cost 0
                sink_before_[static_cast<std::size_t>(source)] = sink;
                reach_sinks(source);
            }
        }
    }

    void reach_sinks(Index source) {
        for (Index sink = 0; sink < costs_.cols(); ++sink) {
            if (settled_[static_cast<std::size_t>(sink)]) continue;
            const double reduced = costs_(source, sink) - plan_.source_prices[source] - plan_.sink_prices[sink];
            const double distance = distance_to_source_[source] + std::max(0.0, reduced);  // rounding may go below 0
            if (distance >= distance_to_sink_[sink]) continue;
            distance_to_sink_[sink] = distance;
            source_before_[static_cast<std::size_t>(sink)] = source;
        }
    }

    /// There always is one: every source reaches every sink, and as long as supply is left a sink wants it.
    Index nearest_open_sink() const {
        Index nearest = kNone;
        for (Index sink = 0; sink < costs_.cols(); ++sink) {
            if (settled_[static_cast<std::size_t>(sink)]) continue;
            if (nearest == kNone || distance_to_sink_[sink] < distance_to_sink_[nearest]) nearest = sink;
        }
        return nearest;
    }

    /// Makes the path found cost nothing, without a pair that costs less than nothing.
    void raise_prices(double length) {
        for (Index source = 0; source < costs_.rows(); ++source)
            if (distance_to_source_[source] != kFar)
                plan_.source_prices[source] += length - distance_to_source_[source];
        for (Index sink = 0; sink < costs_.cols(); ++sink)
            if (settled_[static_cast<std::size_t>(sink)]) plan_.sink_prices[sink] -= length - distance_to_sink_[sink];
    }

    /// As many units as the path has room for.
    std::int64_t carry(Index start, Index end, std::int64_t most) {
        most = std::min(most, wanted_[static_cast<std::size_t>(end)]);
        for (Index source = source_before_[static_cast<std::size_t>(end)]; source != start;) {
            const Index sink = sink_before_[static_cast<std::size_t>(source)];
            most = std::min(most, plan_.units(source, sink));
            source = source_before_[static_cast<std::size_t>(sink)];
        }
        wanted_[static_cast<std::size_t>(end)] -= most;
        for (Index sink = end;;) {
            const Index source = source_before_[static_cast<std::size_t>(sink)];
            plan_.units(source, sink) += most;
            if (source == start) return most;
            sink = sink_before_[static_cast<std::size_t>(source)];
            plan_.units(source, sink) -= most;
        }
    }

    const ConstView<double> costs_;
    std::vector<std::int64_t> wanted_;  // per sink, not yet brought
    TransportPlan plan_;
    RowVector<double> distance_to_source_, distance_to_sink_;
    std::vector<Index> source_before_;  // per sink, on the shortest path
    std::vector<Index> sink_before_;    // per source
    std::vector<bool> settled_;         // per sink
};

}  // namespace

TransportPlan cheapest_transport(const std::vector<std::int64_t>& supplies, const std::vector<std::int64_t>& demands,
                                 const ConstView<double>& costs, const CancelToken& stop) {
    check_task(supplies, demands, costs);
    Carrier carrier(demands, costs);
    for (std::size_t source = 0; source < supplies.size(); ++source) {
        throw_if_cancelled(stop);
        carrier.carry_all(static_cast<Index>(source), supplies[source]);
    }
    return carrier.finish();
}

// --- word mover's distance -------------------------------------------------------------------------------------------

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

WordMovers word_movers_distance(const PlacedWords& a, const PlacedWords& b, const CancelToken& stop) {
    check_placed("word_movers_distance", a, b);
    const Index common = std::gcd(a.total(), b.total());
    const Index units = a.total() / common * b.total();
    WordMovers movers;
    movers.costs.resize(a.vectors.rows(), b.vectors.rows());
    for (Index i = 0; i < movers.costs.rows(); ++i) movers.costs.row(i) = distances_from(a, i, b);
    const TransportPlan plan =
        cheapest_transport(in_units(a, b.total() / common), in_units(b, a.total() / common), movers.costs, stop);
    movers.flow = plan.units.cast<double>() / static_cast<double>(units);
    movers.distance = plan.cost / static_cast<double>(units);
    return movers;
}

double RelaxedWordMovers::larger() const { return std::max(from_a, from_b); }

RelaxedWordMovers relaxed_word_movers_distance(const PlacedWords& a, const PlacedWords& b, const CancelToken& stop) {
    check_placed("relaxed_word_movers_distance", a, b);
    // Row by row: of two long documents the whole matrix would take hundreds of megabytes.
    RowVector<double> nearest_to_a(a.vectors.rows()), nearest_to_b(b.vectors.rows());
    nearest_to_b.setConstant(std::numeric_limits<double>::infinity());
    for (Index i = 0; i < nearest_to_a.size(); ++i) {
        throw_if_cancelled(stop);
        const RowVector<double> distances = distances_from(a, i, b);
        nearest_to_a[i] = distances.minCoeff();
        nearest_to_b = nearest_to_b.cwiseMin(distances);
    }
    return {a.weights().dot(nearest_to_a), b.weights().dot(nearest_to_b)};
}

RowVector<double> distances_from(const PlacedWords& a, Index word, const PlacedWords& b) {
    // Differences first: a word is at distance 0 from itself, which the expanded square would miss by rounding.
    return (b.vectors.rowwise() - a.vectors.row(word)).rowwise().norm().transpose();
}

double centroid_distance(const PlacedWords& a, const PlacedWords& b) {
    check_placed("centroid_distance", a, b);
    return (times<double>(a.weights(), a.vectors) - times<double>(b.weights(), b.vectors)).norm();
}

}  // namespace locus

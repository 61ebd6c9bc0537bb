#pragma once
// The cheapest way to carry goods from where they are to where they are wanted: minimum-cost flow between two sides.
// Successive shortest paths with prices (Edmonds and Karp 1972); one Dijkstra search per path, in whole units.
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

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
TransportPlan cheapest_transport(const std::vector<std::int64_t>& supplies, const std::vector<std::int64_t>& demands,
                                 const ConstView<double>& costs);

}  // namespace locus

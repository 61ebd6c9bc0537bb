#include "core/positions/factorisation_order.h"

namespace locus {

std::vector<Index> ranks_of_order(const std::vector<Index>& order) {
    const auto length = static_cast<Index>(order.size());
    std::vector<Index> ranks(order.size(), -1);
    for (Index t = 0; t < length; ++t) {
        const Index position = order[static_cast<std::size_t>(t)];
        LOCUS_CHECK(position >= 0 && position < length && ranks[static_cast<std::size_t>(position)] < 0,
                    "factorisation order: entry " + std::to_string(t) + " is " + std::to_string(position) +
                        ", expected every position from 0 to " + std::to_string(length - 1) + " exactly once");
        ranks[static_cast<std::size_t>(position)] = t;
    }
    return ranks;
}

namespace {

template <class Sees>
Visibility visibility_where(Index length, Sees sees) {
    Visibility visible(length, length);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j)
            visible(i, j) = sees(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    return visible;
}

}  // namespace

Visibility content_visibility(const std::vector<Index>& order) {
    const std::vector<Index> rank = ranks_of_order(order);
    return visibility_where(static_cast<Index>(order.size()),
                            [&](std::size_t i, std::size_t j) { return rank[j] <= rank[i]; });
}

Visibility query_visibility(const std::vector<Index>& order) {
    const std::vector<Index> rank = ranks_of_order(order);
    return visibility_where(static_cast<Index>(order.size()),
                            [&](std::size_t i, std::size_t j) { return rank[j] < rank[i]; });
}

Visibility local_permutation_mask(const PartialOrder& partial) {
    const std::size_t length = partial.ranks.size();
    LOCUS_CHECK(partial.is_target.size() == length && partial.is_functional.size() == length,
                "local_permutation_mask: " + std::to_string(length) + " ranks, " +
                    std::to_string(partial.is_target.size()) + " targets and " +
                    std::to_string(partial.is_functional.size()) + " functional marks, expected as many of each");
    ranks_of_order(partial.ranks);  // refused here if it is no permutation
    const auto target = [&](std::size_t t) { return partial.is_target[t] && !partial.is_functional[t]; };
    const auto hideable = [&](std::size_t t) { return partial.is_target[t] || partial.is_functional[t]; };
    std::vector<Index> rank, self_rank;
    for (std::size_t t = 0; t < length; ++t) {
        rank.push_back(hideable(t) ? partial.ranks[t] : -1);
        self_rank.push_back(target(t) ? rank[t] : rank[t] + 1);
    }
    return visibility_where(static_cast<Index>(length),
                            [&](std::size_t i, std::size_t j) { return self_rank[i] <= rank[j] && hideable(j); });
}

}  // namespace locus

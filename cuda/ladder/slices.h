#pragma once
// KernelVersion 3: what changed: no index matrix and no pass of its own for any term.  The row is a function of i - j,
// read from a line of 2 T - 1 numbers, so neighbouring threads read neighbouring places of a table row: slices.  Scores
// travel through memory twice.
#include "cuda/ladder/gather.h"

namespace locus::cuda::ladder {

struct SliceScoreCell {
    Problem at;
    const float *by_query, *by_key;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        const int row = at.row(pair.i, pair.j);
        const float sum = dot(at.query(pair.sheet, pair.i), at.key(pair.sheet, pair.j), at.width) +
                          by_query[(pair.sheet * at.queries + pair.i) * at.rows + row] +
                          by_key[(pair.sheet * at.keys + pair.j) * at.rows + row];
        scores[n] = sum * at.scale;
    }
};

template <class Place>
class Slices {
public:
    Slices(const Place& place, const Problem& at)
        : place_(place),
          at_(at),
          tables_(place, at),
          scores_(place.template room<float>(static_cast<std::size_t>(at.scores()))),
          probs_(place.template room<float>(static_cast<std::size_t>(at.scores()))) {}
    void run(float* context) {
        tables_.fill();
        place_.each(at_.scores(), SliceScoreCell{at_, tables_.by_query(), tables_.by_key(), scores_.data()});
        finish(place_, at_, scores_.data(), probs_.data(), context);
    }

private:
    const Place& place_;
    Problem at_;
    Tables<Place> tables_;
    decltype(std::declval<const Place&>().template room<float>(0)) scores_, probs_;
};

}  // namespace locus::cuda::ladder

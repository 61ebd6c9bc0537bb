#pragma once
// KernelVersion 1: every score by three dot products of its own.  3 T^2 d products of which most are computed T times
// over, and [B,H,T,T] twice in memory; but nothing to misread.
#include "cuda/ladder/kernels.h"

namespace locus::cuda::ladder {

struct NaiveScoreCell {
    Problem at;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        const float *query = at.query(pair.sheet, pair.i), *key = at.key(pair.sheet, pair.j);
        const int row = at.row(pair.i, pair.j);
        const float sum = dot(query, key, at.width) + dot(query, at.row_of(at.k_r, pair.sheet, row), at.width) +
                          dot(key, at.row_of(at.q_r, pair.sheet, row), at.width);
        scores[n] = sum * at.scale;
    }
};

template <class Place>
class Naive {
public:
    Naive(const Place& place, const Problem& at)
        : place_(place),
          at_(at),
          scores_(place.template room<float>(static_cast<std::size_t>(at.scores()))),
          probs_(place.template room<float>(static_cast<std::size_t>(at.scores()))) {}
    void run(float* context) {
        place_.each(at_.scores(), NaiveScoreCell{at_, scores_.data()});
        finish(place_, at_, scores_.data(), probs_.data(), context);
    }

private:
    const Place& place_;
    Problem at_;
    decltype(std::declval<const Place&>().template room<float>(0)) scores_, probs_;
};

}  // namespace locus::cuda::ladder

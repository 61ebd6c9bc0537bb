#pragma once
// KernelVersion 2: what changed: each distinct product of a token and a table row is computed once, 2 T 2k d of them,
// and an index matrix gathers from the two tables, pass by pass, as frameworks do.  Scores travel through memory five
// times.
#include "cuda/ladder/kernels.h"

namespace locus::cuda::ladder {

struct ContentScoreCell {
    Problem at;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        scores[n] = dot(at.query(pair.sheet, pair.i), at.key(pair.sheet, pair.j), at.width);
    }
};

/// The index matrix that frameworks build: delta(i,j), the same for every sample and head.
struct IndexCell {
    Problem at;
    long long* index;
    constexpr void operator()(long long n) const {
        index[n] = at.row(static_cast<int>(n / at.keys), static_cast<int>(n % at.keys));
    }
};

struct GatherByQueryCell {
    Problem at;
    const float* table;
    const long long* index;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        const long long row = index[static_cast<long long>(pair.i) * at.keys + pair.j];
        scores[n] += table[(pair.sheet * at.queries + pair.i) * at.rows + row];
    }
};

struct GatherByKeyCell {
    Problem at;
    const float* table;
    const long long* index;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        const long long row = index[static_cast<long long>(pair.i) * at.keys + pair.j];
        scores[n] += table[(pair.sheet * at.keys + pair.j) * at.rows + row];
    }
};

struct ScaleCell {
    float scale;
    float* scores;
    constexpr void operator()(long long n) const { scores[n] *= scale; }
};

/// The two tables of products, for this rung and the next ones.
template <class Place>
class Tables {
public:
    Tables(const Place& place, const Problem& at)
        : place_(place),
          at_(at),
          by_query_(place.template room<float>(static_cast<std::size_t>(at.sheets) * at.queries * at.rows)),
          by_key_(place.template room<float>(static_cast<std::size_t>(at.sheets) * at.keys * at.rows)) {}
    void fill() {
        place_.each(static_cast<long long>(at_.sheets) * at_.queries * at_.rows,
                    TableCell{at_, at_.q, at_.k_r, at_.queries, by_query_.data()});
        place_.each(static_cast<long long>(at_.sheets) * at_.keys * at_.rows,
                    TableCell{at_, at_.k, at_.q_r, at_.keys, by_key_.data()});
    }
    const float* by_query() const { return by_query_.data(); }
    const float* by_key() const { return by_key_.data(); }

private:
    const Place& place_;
    Problem at_;
    decltype(std::declval<const Place&>().template room<float>(0)) by_query_, by_key_;
};

template <class Place>
class Gather {
public:
    Gather(const Place& place, const Problem& at)
        : place_(place),
          at_(at),
          tables_(place, at),
          index_(place.template room<long long>(static_cast<std::size_t>(at.queries) * at.keys)),
          scores_(place.template room<float>(static_cast<std::size_t>(at.scores()))),
          probs_(place.template room<float>(static_cast<std::size_t>(at.scores()))) {
        place_.each(static_cast<long long>(at.queries) * at.keys, IndexCell{at_, index_.data()});
    }
    void run(float* context) {
        tables_.fill();
        place_.each(at_.scores(), ContentScoreCell{at_, scores_.data()});
        place_.each(at_.scores(), GatherByQueryCell{at_, tables_.by_query(), index_.data(), scores_.data()});
        place_.each(at_.scores(), GatherByKeyCell{at_, tables_.by_key(), index_.data(), scores_.data()});
        place_.each(at_.scores(), ScaleCell{at_.scale, scores_.data()});
        finish(place_, at_, scores_.data(), probs_.data(), context);
    }

private:
    const Place& place_;
    Problem at_;
    Tables<Place> tables_;
    decltype(std::declval<const Place&>().template room<long long>(0)) index_;
    decltype(std::declval<const Place&>().template room<float>(0)) scores_, probs_;
};

}  // namespace locus::cuda::ladder

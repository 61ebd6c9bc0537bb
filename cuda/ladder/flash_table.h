#pragma once
// KernelVersion 4: what changed: the softmax runs along with the scores, so neither scores nor probabilities reach
// memory; the two tables still do, [B,H,T,2k] each.  One thread a query, one key after the other.
#include "cuda/ladder/gather.h"

namespace locus::cuda::ladder {

/// width: known to the compiler, so that a query and its context stay in registers.
template <int width>
struct FlashCell {
    Problem at;
    const float *by_query, *by_key;
    float* context;
    constexpr void operator()(long long row) const {
        const long long sheet = row / at.queries;
        const int i = static_cast<int>(row % at.queries);
        float query[width] = {}, sums[width] = {}, largest = 0, sum = 0;
        for (int c = 0; c < width; ++c) query[c] = at.query(sheet, i)[c];
        for (int j = 0; j < at.keys; ++j) {
            const int place = at.row(i, j);
            const float score = (dot(query, at.key(sheet, j), width) + by_query[row * at.rows + place] +
                                 by_key[(sheet * at.keys + j) * at.rows + place]) *
                                at.scale;
            const bool grows = j == 0 || !(score <= largest);
            const float shrink = grows ? (j == 0 ? 0.0f : std::exp(largest - score)) : 1.0f;
            if (grows) largest = score;
            const float share = std::exp(score - largest);
            sum = sum * shrink + share;
            const float* value = at.v + (sheet * at.keys + j) * width;
            for (int c = 0; c < width; ++c) sums[c] = sums[c] * shrink + share * value[c];
        }
        for (int c = 0; c < width; ++c) context[row * width + c] = sums[c] / sum;
    }
};

template <class Place>
class FlashTable {
public:
    FlashTable(const Place& place, const Problem& at) : place_(place), at_(at), tables_(place, at) {}
    void run(float* context) {
        tables_.fill();
        switch (at_.width) {
            case 32:
                return attend<32>(context);
            case 64:
                return attend<64>(context);
            case 128:
                return attend<128>(context);
            default:
                throw Error(Fault::usage, "the ladder's fourth rung has no head width " + std::to_string(at_.width) +
                                              ", expected 32, 64 or 128");
        }
    }

private:
    template <int width>
    void attend(float* context) {
        place_.each(static_cast<long long>(at_.sheets) * at_.queries,
                    FlashCell<width>{at_, tables_.by_query(), tables_.by_key(), context});
    }

    const Place& place_;
    Problem at_;
    Tables<Place> tables_;
};

}  // namespace locus::cuda::ladder

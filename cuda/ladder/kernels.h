#pragma once
// What the first rungs share: sizes, one head of a tensor, products, softmax and context as cells
// (cuda/reference/backend.h).
#include <cmath>

#include "cuda/reference/backend.h"

namespace locus::cuda::ladder {

/// q [sheets,queries,width], k and v [sheets,keys,width], k_r and q_r [heads,rows,width], line [queries + keys - 1].
struct Problem {
    const float *q, *k, *v, *k_r, *q_r;
    const int* line;
    int sheets, heads, queries, keys, width, rows;
    float scale;

    constexpr long long scores() const { return static_cast<long long>(sheets) * queries * keys; }
    constexpr int row(int i, int j) const { return line[line_place(i, j, keys)]; }
    constexpr const float* query(long long sheet, int i) const { return q + (sheet * queries + i) * width; }
    constexpr const float* key(long long sheet, int j) const { return k + (sheet * keys + j) * width; }
    constexpr const float* row_of(const float* table, long long sheet, int at) const {
        return table + (sheet % heads * rows + at) * width;
    }
};

/// One score's place.
struct Pair {
    long long sheet;
    int i, j;
};
constexpr Pair pair_of(long long n, int queries, int keys) {
    return {n / (static_cast<long long>(queries) * keys), static_cast<int>(n / keys % queries),
            static_cast<int>(n % keys)};
}

/// One thread a row: largest score, sum of exponentials, shares.
struct SoftmaxCell {
    const float* scores;
    int keys;
    float* probs;
    constexpr void operator()(long long row) const {
        const float* from = scores + row * keys;
        float* to = probs + row * keys;
        float largest = from[0], sum = 0;
        for (int j = 1; j < keys; ++j)
            if (!(from[j] <= largest)) largest = from[j];
        for (int j = 0; j < keys; ++j) sum += to[j] = std::exp(from[j] - largest);
        for (int j = 0; j < keys; ++j) to[j] /= sum;
    }
};

/// One thread a channel of a query.
struct ContextCell {
    const float *probs, *v;
    int queries, keys, width;
    float* context;
    constexpr void operator()(long long n) const {
        const long long row = n / width, sheet = row / queries;
        const float* values = v + sheet * keys * width + n % width;
        float sum = 0;
        for (int j = 0; j < keys; ++j) sum += probs[row * keys + j] * values[static_cast<long long>(j) * width];
        context[n] = sum;
    }
};

/// One thread a product of a token with a row of the relative table: tokens [sheets,count,width] ->
/// [sheets,count,rows].
struct TableCell {
    Problem at;
    const float *tokens, *relative;
    int count;
    float* table;
    constexpr void operator()(long long n) const {
        const long long token = n / at.rows;
        table[n] =
            dot(tokens + token * at.width, at.row_of(relative, token / count, static_cast<int>(n % at.rows)), at.width);
    }
};

/// Scores in memory become the context.
template <class Place>
void finish(const Place& place, const Problem& at, const float* scores, float* probs, float* context) {
    place.each(static_cast<long long>(at.sheets) * at.queries, SoftmaxCell{scores, at.keys, probs});
    place.each(static_cast<long long>(at.sheets) * at.queries * at.width,
               ContextCell{probs, at.v, at.queries, at.keys, at.width, context});
}

}  // namespace locus::cuda::ladder

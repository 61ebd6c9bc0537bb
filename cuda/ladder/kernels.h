#pragma once
// What the first versions share: sizes, one head of a tensor, products, softmax and context as kernels of one cell each
// (cuda/reference/backend.h).
#include <cmath>

#include "cuda/reference/backend.h"

namespace locus::cuda::ladder {

/// q [batch_heads,queries,width], k and v [batch_heads,keys,width], k_r and q_r [heads,rows,width], rows_by_offset
/// [queries + keys - 1].
struct Problem {
    const float *q, *k, *v, *k_r, *q_r;
    const int* rows_by_offset;
    int batch_heads, heads, queries, keys, width, rows;
    float scale;

    constexpr long long scores() const { return static_cast<long long>(batch_heads) * queries * keys; }
    constexpr int row(int i, int j) const { return rows_by_offset[bucket_index(i, j, keys)]; }
    constexpr const float* query(long long batch_head, int i) const { return q + (batch_head * queries + i) * width; }
    constexpr const float* key(long long batch_head, int j) const { return k + (batch_head * keys + j) * width; }
    constexpr const float* row_of(const float* table, long long batch_head, int at) const {
        return table + (batch_head % heads * rows + at) * width;
    }
};

/// Which score: sample and head, query, key.
struct Pair {
    long long batch_head;
    int i, j;
};
constexpr Pair pair_of(long long n, int queries, int keys) {
    return {n / (static_cast<long long>(queries) * keys), static_cast<int>(n / keys % queries),
            static_cast<int>(n % keys)};
}

/// One thread a row: largest score, sum of exponentials, shares.
struct SoftmaxKernel {
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
struct ContextKernel {
    const float *probs, *v;
    int queries, keys, width;
    float* context;
    constexpr void operator()(long long n) const {
        const long long row = n / width, batch_head = row / queries;
        const float* values = v + batch_head * keys * width + n % width;
        float sum = 0;
        for (int j = 0; j < keys; ++j) sum += probs[row * keys + j] * values[static_cast<long long>(j) * width];
        context[n] = sum;
    }
};

/// One thread a product of a token with a row of the relative table: tokens [batch_heads,count,width] ->
/// [batch_heads,count,rows].
struct TableKernel {
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
template <class Backend>
void finish(const Backend& backend, const Problem& at, const float* scores, float* probs, float* context) {
    backend.parallel_for(static_cast<long long>(at.batch_heads) * at.queries, SoftmaxKernel{scores, at.keys, probs});
    backend.parallel_for(static_cast<long long>(at.batch_heads) * at.queries * at.width,
                         ContextKernel{probs, at.v, at.queries, at.keys, at.width, context});
}

}  // namespace locus::cuda::ladder

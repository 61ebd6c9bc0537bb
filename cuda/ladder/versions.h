#pragma once
// The versions of the ladder before the fused kernel; each says what changed.
//
// Version 1: every score by three dot products of its own.  3 T^2 d products of which most are computed T times
// over, and [B,H,T,T] twice in memory; but the simplest to read.
#include <utility>

#include "cuda/encoder/cublas.h"
#include "cuda/ladder/kernels.h"

namespace locus::cuda::ladder {

struct NaiveScoreKernel {
    Problem at;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        const float *query = at.query(pair.batch_head, pair.i), *key = at.key(pair.batch_head, pair.j);
        const int row = at.row(pair.i, pair.j);
        const float sum = dot(query, key, at.width) + dot(query, at.row_of(at.k_r, pair.batch_head, row), at.width) +
                          dot(key, at.row_of(at.q_r, pair.batch_head, row), at.width);
        scores[n] = sum * at.scale;
    }
};

template <class Backend>
class Naive {
public:
    Naive(const Backend& backend, const Problem& at)
        : backend_(backend),
          at_(at),
          scores_(backend.template allocate<float>(static_cast<std::size_t>(at.scores()))),
          probs_(backend.template allocate<float>(static_cast<std::size_t>(at.scores()))) {}
    void run(float* context) {
        backend_.parallel_for(at_.scores(), NaiveScoreKernel{at_, scores_.data()});
        finish(backend_, at_, scores_.data(), probs_.data(), context);
    }

private:
    const Backend& backend_;
    Problem at_;
    decltype(std::declval<const Backend&>().template allocate<float>(0)) scores_, probs_;
};

// Version 2: what changed: each distinct product of a token and a table row is computed once, 2 T 2k d of them,
// and an index matrix gathers from the two tables, pass by pass, as frameworks do.  Scores travel through memory five
// times.

struct ContentScoreKernel {
    Problem at;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        scores[n] = dot(at.query(pair.batch_head, pair.i), at.key(pair.batch_head, pair.j), at.width);
    }
};

/// The index matrix that frameworks build: delta(i,j), the same for every sample and head.
struct IndexKernel {
    Problem at;
    long long* index;
    constexpr void operator()(long long n) const {
        index[n] = at.row(static_cast<int>(n / at.keys), static_cast<int>(n % at.keys));
    }
};

struct GatherByQueryKernel {
    Problem at;
    const float* table;
    const long long* index;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        const long long row = index[static_cast<long long>(pair.i) * at.keys + pair.j];
        scores[n] += table[(pair.batch_head * at.queries + pair.i) * at.rows + row];
    }
};

struct GatherByKeyKernel {
    Problem at;
    const float* table;
    const long long* index;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        const long long row = index[static_cast<long long>(pair.i) * at.keys + pair.j];
        scores[n] += table[(pair.batch_head * at.keys + pair.j) * at.rows + row];
    }
};

struct ScaleKernel {
    float scale;
    float* scores;
    constexpr void operator()(long long n) const { scores[n] *= scale; }
};

/// The two tables of products, for this version and the next ones.
template <class Backend>
class Tables {
public:
    Tables(const Backend& backend, const Problem& at)
        : backend_(backend),
          at_(at),
          by_query_(backend.template allocate<float>(static_cast<std::size_t>(at.batch_heads) * at.queries * at.rows)),
          by_key_(backend.template allocate<float>(static_cast<std::size_t>(at.batch_heads) * at.keys * at.rows)) {}
    void fill() {
        backend_.parallel_for(static_cast<long long>(at_.batch_heads) * at_.queries * at_.rows,
                              TableKernel{at_, at_.q, at_.k_r, at_.queries, by_query_.data()});
        backend_.parallel_for(static_cast<long long>(at_.batch_heads) * at_.keys * at_.rows,
                              TableKernel{at_, at_.k, at_.q_r, at_.keys, by_key_.data()});
    }
    const float* by_query() const { return by_query_.data(); }
    const float* by_key() const { return by_key_.data(); }

private:
    const Backend& backend_;
    Problem at_;
    decltype(std::declval<const Backend&>().template allocate<float>(0)) by_query_, by_key_;
};

template <class Backend>
class Gather {
public:
    Gather(const Backend& backend, const Problem& at)
        : backend_(backend),
          at_(at),
          tables_(backend, at),
          index_(backend.template allocate<long long>(static_cast<std::size_t>(at.queries) * at.keys)),
          scores_(backend.template allocate<float>(static_cast<std::size_t>(at.scores()))),
          probs_(backend.template allocate<float>(static_cast<std::size_t>(at.scores()))) {
        backend_.parallel_for(static_cast<long long>(at.queries) * at.keys, IndexKernel{at_, index_.data()});
    }
    void run(float* context) {
        tables_.fill();
        backend_.parallel_for(at_.scores(), ContentScoreKernel{at_, scores_.data()});
        backend_.parallel_for(at_.scores(),
                              GatherByQueryKernel{at_, tables_.by_query(), index_.data(), scores_.data()});
        backend_.parallel_for(at_.scores(), GatherByKeyKernel{at_, tables_.by_key(), index_.data(), scores_.data()});
        backend_.parallel_for(at_.scores(), ScaleKernel{at_.scale, scores_.data()});
        finish(backend_, at_, scores_.data(), probs_.data(), context);
    }

private:
    const Backend& backend_;
    Problem at_;
    Tables<Backend> tables_;
    decltype(std::declval<const Backend&>().template allocate<long long>(0)) index_;
    decltype(std::declval<const Backend&>().template allocate<float>(0)) scores_, probs_;
};

// Version 2 with products from cuBLAS: what changed: the four products, two tables of them, q k^T and
// probabilities v, are a library's; index, gathers, scale and softmax are those of version 2, and so is the traffic of
// scores through memory. This is what frameworks run.  The library is found when the version is launched, or one
// sentence says that it is not.

/// Multiply: what takes BatchedProducts<float>, cuBLAS on the device.
template <class Backend, class Multiply>
class CublasGather {
public:
    CublasGather(const Backend& backend, const Problem& at, Multiply multiply)
        : backend_(backend),
          at_(at),
          multiply_(std::move(multiply)),
          by_query_(backend.template allocate<float>(static_cast<std::size_t>(at.batch_heads) * at.queries * at.rows)),
          by_key_(backend.template allocate<float>(static_cast<std::size_t>(at.batch_heads) * at.keys * at.rows)),
          index_(backend.template allocate<long long>(static_cast<std::size_t>(at.queries) * at.keys)),
          scores_(backend.template allocate<float>(static_cast<std::size_t>(at.scores()))),
          probs_(backend.template allocate<float>(static_cast<std::size_t>(at.scores()))) {
        backend_.parallel_for(static_cast<long long>(at.queries) * at.keys, IndexKernel{at_, index_.data()});
    }
    void run(float* context) {
        fill_table(at_.q, at_.queries, at_.k_r, by_query_.data());
        fill_table(at_.k, at_.keys, at_.q_r, by_key_.data());
        multiply_(batched(at_.q, at_.k, scores_.data(), at_.queries, at_.keys, at_.width));
        backend_.parallel_for(at_.scores(), GatherByQueryKernel{at_, by_query_.data(), index_.data(), scores_.data()});
        backend_.parallel_for(at_.scores(), GatherByKeyKernel{at_, by_key_.data(), index_.data(), scores_.data()});
        backend_.parallel_for(at_.scores(), ScaleKernel{at_.scale, scores_.data()});
        backend_.parallel_for(static_cast<long long>(at_.batch_heads) * at_.queries,
                              SoftmaxKernel{scores_.data(), at_.keys, probs_.data()});
        BatchedProducts<float> values = batched(probs_.data(), at_.v, context, at_.queries, at_.width, at_.keys);
        values.first.b_row = at_.width;
        values.b_transposed = false;
        multiply_(values);
    }

private:
    /// a [batch_heads,rows,depth], b [batch_heads,columns,depth] -> c [batch_heads,rows,columns].
    BatchedProducts<float> batched(const float* a, const float* b, float* c, int rows, int columns, int depth) const {
        BatchedProducts<float> all;
        all.first = ProductArguments<float>::whole(a, b, c, rows, columns, depth);
        all.count = at_.batch_heads;
        all.a_stride = static_cast<long long>(rows) * depth;
        all.b_stride = static_cast<long long>(columns) * depth;
        all.c_stride = static_cast<long long>(rows) * columns;
        return all;
    }
    /// Every sample has the relative rows of its heads.
    void fill_table(const float* tokens, int count, const float* relative, float* table) const {
        for (int batch_head = 0; batch_head < at_.batch_heads; batch_head += at_.heads) {
            BatchedProducts<float> of_sample =
                batched(tokens + static_cast<long long>(batch_head) * count * at_.width, relative,
                        table + static_cast<long long>(batch_head) * count * at_.rows, count, at_.rows, at_.width);
            of_sample.count = at_.heads;
            multiply_(of_sample);
        }
    }

    const Backend& backend_;
    Problem at_;
    Multiply multiply_;
    decltype(std::declval<const Backend&>().template allocate<float>(0)) by_query_, by_key_;
    decltype(std::declval<const Backend&>().template allocate<long long>(0)) index_;
    decltype(std::declval<const Backend&>().template allocate<float>(0)) scores_, probs_;
};

// Version 3: what changed: no index matrix and no pass of its own for any term.  The row is a function of i - j,
// read from a list of 2 T - 1 numbers, so neighbouring threads read neighbouring places of a table row: slices.  Scores
// travel through memory twice.

struct SliceScoreKernel {
    Problem at;
    const float *by_query, *by_key;
    float* scores;
    constexpr void operator()(long long n) const {
        const Pair pair = pair_of(n, at.queries, at.keys);
        const int row = at.row(pair.i, pair.j);
        const float sum = dot(at.query(pair.batch_head, pair.i), at.key(pair.batch_head, pair.j), at.width) +
                          by_query[(pair.batch_head * at.queries + pair.i) * at.rows + row] +
                          by_key[(pair.batch_head * at.keys + pair.j) * at.rows + row];
        scores[n] = sum * at.scale;
    }
};

template <class Backend>
class Slices {
public:
    Slices(const Backend& backend, const Problem& at)
        : backend_(backend),
          at_(at),
          tables_(backend, at),
          scores_(backend.template allocate<float>(static_cast<std::size_t>(at.scores()))),
          probs_(backend.template allocate<float>(static_cast<std::size_t>(at.scores()))) {}
    void run(float* context) {
        tables_.fill();
        backend_.parallel_for(at_.scores(),
                              SliceScoreKernel{at_, tables_.by_query(), tables_.by_key(), scores_.data()});
        finish(backend_, at_, scores_.data(), probs_.data(), context);
    }

private:
    const Backend& backend_;
    Problem at_;
    Tables<Backend> tables_;
    decltype(std::declval<const Backend&>().template allocate<float>(0)) scores_, probs_;
};

// Version 4: what changed: the softmax runs along with the scores, so neither scores nor probabilities reach
// memory; the two tables still do, [B,H,T,2k] each.  One thread a query, one key after the other.

/// width: known to the compiler, so that a query and its context stay in registers.
template <int width>
struct FlashKernel {
    Problem at;
    const float *by_query, *by_key;
    float* context;
    constexpr void operator()(long long row) const {
        const long long batch_head = row / at.queries;
        const int i = static_cast<int>(row % at.queries);
        float query[width] = {}, sums[width] = {}, largest = 0, sum = 0;
        for (int c = 0; c < width; ++c) query[c] = at.query(batch_head, i)[c];
        for (int j = 0; j < at.keys; ++j) {
            const int bucket = at.row(i, j);
            const float score = (dot(query, at.key(batch_head, j), width) + by_query[row * at.rows + bucket] +
                                 by_key[(batch_head * at.keys + j) * at.rows + bucket]) *
                                at.scale;
            const bool grows = j == 0 || !(score <= largest);
            const float shrink = grows ? (j == 0 ? 0.0f : std::exp(largest - score)) : 1.0f;
            if (grows) largest = score;
            const float share = std::exp(score - largest);
            sum = sum * shrink + share;
            const float* value = at.v + (batch_head * at.keys + j) * width;
            for (int c = 0; c < width; ++c) sums[c] = sums[c] * shrink + share * value[c];
        }
        for (int c = 0; c < width; ++c) context[row * width + c] = sums[c] / sum;
    }
};

template <class Backend>
class FlashTable {
public:
    FlashTable(const Backend& backend, const Problem& at) : backend_(backend), at_(at), tables_(backend, at) {}
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
                throw Error(Fault::usage, "the ladder's fourth version has no head width " + std::to_string(at_.width) +
                                              ", expected 32, 64 or 128");
        }
    }

private:
    template <int width>
    void attend(float* context) {
        backend_.parallel_for(static_cast<long long>(at_.batch_heads) * at_.queries,
                              FlashKernel<width>{at_, tables_.by_query(), tables_.by_key(), context});
    }

    const Backend& backend_;
    Problem at_;
    Tables<Backend> tables_;
};

}  // namespace locus::cuda::ladder

#pragma once
// What the fused kernels are given, forward and backward: plain pointers and sizes.
#include <cstdint>

#include "cuda/fused/layout.h"

namespace locus::cuda {

/// One of q, k, v or context: element (sample b, head h, token i, channel c) lies at
/// data[(tokens before b) * row + h * head + i * row + c], where a padded tensor has b * sample in place of the first
/// term.  Strides in elements; rows of 16-bit numbers start at multiples of 16 bytes.
template <class Scalar>
struct Rows {
    Scalar* data = nullptr;
    long long sample = 0, head = 0, row = 0;
};

/// The tokens of a sample.
struct Tokens {
    int first, count;
};

/// Fused disentangled attention, forward.  All memory is the caller's, on the device.
template <class Scalar>
struct ForwardArguments {
    Rows<const Scalar> q, k, v;
    Rows<Scalar> context;
    float* log_sum = nullptr;     // [B,H,queries]: log of the softmax denominator, +inf for rows without a key; or none
    const Scalar* k_r = nullptr;  // [H, table_rows, d]; nullptr: no c2p term
    const Scalar* q_r = nullptr;  // [H, table_rows, d]; nullptr: no p2c term
    BucketRows buckets{};         // of queries x keys pairs
    int table_rows = 0;           // 2k
    const std::uint8_t* visible_keys = nullptr;  // [B,keys], 0: hidden from every query; nullptr: all are visible
    // Packed samples: where each begins, [B+1]; nullptr: padded, every sample has `queries` and `keys`.
    const int *first_query = nullptr, *first_key = nullptr;
    int batch = 0, heads = 0;
    int queries = 0, keys = 0;          // of the longest sample
    int all_queries = 0, all_keys = 0;  // packed: of all samples together; 0: unknown, which the copy engine needs
    float scale = 1;                    // 1 / sqrt(n d)
    float dropout = 0;                  // share of probabilities that are dropped
    std::uint64_t seed = 0;             // of the dropout

    constexpr Tokens queries_of(int b) const {
        return first_query ? Tokens{first_query[b], first_query[b + 1] - first_query[b]} : Tokens{0, queries};
    }
    constexpr Tokens keys_of(int b) const {
        return first_key ? Tokens{first_key[b], first_key[b + 1] - first_key[b]} : Tokens{0, keys};
    }
    /// The first row of a sample and head.
    template <class Any>
    static constexpr Any* at(const Rows<Any>& rows, const Tokens& tokens, int b, int h) {
        return rows.data + b * rows.sample + tokens.first * rows.row + h * rows.head;
    }
};

/// True if the kernels on tensor cores can read and write these rows: 16 bytes at a time, each at a multiple of 16.
template <class Scalar>
bool starts_at_16_bytes(const Rows<Scalar>& rows) {
    const auto fits = [](long long stride) { return stride * static_cast<long long>(sizeof(Scalar)) % 16 == 0; };
    return reinterpret_cast<std::uintptr_t>(rows.data) % 16 == 0 && fits(rows.sample) && fits(rows.head) &&
           fits(rows.row);
}
template <class Scalar>
bool starts_at_16_bytes(const Scalar* table) {
    return reinterpret_cast<std::uintptr_t>(table) % 16 == 0;
}
/// All that forward reads and writes, and buckets for which their shared memory has room; otherwise the portable kernel
/// serves.
template <class Scalar>
bool suits_tensor_cores(const ForwardArguments<Scalar>& args) {
    return !args.buckets.skips && starts_at_16_bytes(args.q) && starts_at_16_bytes(args.k) &&
           starts_at_16_bytes(args.v) && starts_at_16_bytes(args.context) && starts_at_16_bytes(args.k_r) &&
           starts_at_16_bytes(args.q_r);
}

// What the backward kernels are given.  The same kernel text serves both of their loops: around queries, where the
// outer tokens are queries and the inner ones keys, and around keys the other way round.

/// Fused disentangled attention, backward.  All memory is the caller's, on the device.
template <class Scalar>
struct BackwardArguments {
    ForwardArguments<Scalar> forward;  // as forward had it; context and log_sum are its results
    Rows<const Scalar> d_context;
    Rows<Scalar> d_q, d_k, d_v;
    float *d_k_r = nullptr, *d_q_r = nullptr;  // [H, table_rows, d], summed over samples; nullptr: the term is off
    // Between the kernels.
    float* delta = nullptr;         // [B,H,queries]: d_context . context
    Rows<Scalar> by_query, by_key;  // gradients of the scores summed by table row, [B,H,tokens,columns]
    RowRange reached{0, 0};         // of all pairs: the tables' column 0 is row reached.first of k_r and q_r
    int columns = 0;                // columns_of(reached)

    static constexpr int columns_of(RowRange reached) { return round_up(reached.count, 64); }
};

/// All that backward reads and writes.
template <class Scalar>
bool suits_tensor_cores(const BackwardArguments<Scalar>& args) {
    return suits_tensor_cores(args.forward) && starts_at_16_bytes(args.d_context) && starts_at_16_bytes(args.d_q) &&
           starts_at_16_bytes(args.d_k) && starts_at_16_bytes(args.d_v);
}

/// What is outer and inner in one of the two loops.
template <class Scalar, bool around_keys>
struct BackwardSide {
    const BackwardArguments<Scalar>& args;

    constexpr const ForwardArguments<Scalar>& forward() const { return args.forward; }
    constexpr Tokens outer(int b) const { return around_keys ? forward().keys_of(b) : forward().queries_of(b); }
    constexpr Tokens inner(int b) const { return around_keys ? forward().queries_of(b) : forward().keys_of(b); }
    /// Scores are products of the first two, gradients of probabilities those of the others.
    constexpr const Rows<const Scalar>& outer_tokens() const { return around_keys ? forward().k : forward().q; }
    constexpr const Rows<const Scalar>& inner_tokens() const { return around_keys ? forward().q : forward().k; }
    constexpr const Rows<const Scalar>& outer_values() const { return around_keys ? forward().v : args.d_context; }
    constexpr const Rows<const Scalar>& inner_values() const { return around_keys ? args.d_context : forward().v; }
    /// The relative rows that outer and inner tokens are multiplied with; nullptr: the term is off.
    constexpr const Scalar* outer_rows() const { return around_keys ? forward().q_r : forward().k_r; }
    constexpr const Scalar* inner_rows() const { return around_keys ? forward().k_r : forward().q_r; }
    constexpr const Rows<Scalar>& d_outer() const { return around_keys ? args.d_k : args.d_q; }
    constexpr const Rows<Scalar>& table() const { return around_keys ? args.by_key : args.by_query; }
    constexpr float* d_rows() const { return around_keys ? args.d_q_r : args.d_k_r; }

    static constexpr int query(int outer, int inner) { return around_keys ? inner : outer; }
    static constexpr int key(int outer, int inner) { return around_keys ? outer : inner; }
    constexpr int row(int outer, int inner) const {
        return forward().buckets.row(query(outer, inner) - key(outer, inner));
    }
    /// Of a tile's pairs.
    constexpr OffsetRange offsets(int outer0, int inner0, int tile_outer, int tile_inner, int b) const {
        return offsets_of_tile(query(outer0, inner0), key(outer0, inner0), query(tile_outer, tile_inner),
                               key(tile_outer, tile_inner), forward().queries_of(b).count, forward().keys_of(b).count);
    }
    constexpr bool is_visible(int b, int key) const {
        return key < forward().keys_of(b).count &&
               (!forward().visible_keys ||
                forward().visible_keys[static_cast<long long>(b) * forward().keys + key] != 0);
    }
    /// Of log_sum and delta.
    constexpr long long place_of_query(int b, int h, int query) const {
        return (static_cast<long long>(b) * forward().heads + h) * forward().queries + query;
    }
};

/// The gradients of one token's scores, summed by table row.  Offsets rise or fall with the inner tokens and rows with
/// them, so the pairs of a row are neighbours: one number is enough, and every column is written once, in order.
template <bool rising>
struct RunningRow {
    int open = -1;
    float sum = 0;

    constexpr void start(int columns) {
        open = rising ? -1 : columns;
        sum = 0;
    }
    /// store(column, sum) for columns that are complete; those without a pair get 0.
    template <class Store>
    constexpr void add(int column, float value, int columns, Store store) {
        if (column != open) move(column, columns, store);
        sum += value;
    }
    template <class Store>
    constexpr void finish(int columns, Store store) {
        move(rising ? columns : -1, columns, store);
    }

private:
    template <class Store>
    constexpr void move(int column, int columns, Store store) {
        constexpr int kStep = rising ? 1 : -1;
        if (open >= 0 && open < columns) store(open, sum);
        for (int between = open + kStep; between != column; between += kStep) store(between, 0.0f);
        open = column;
        sum = 0;
    }
};

}  // namespace locus::cuda

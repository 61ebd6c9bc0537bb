#pragma once
// What the copy engine is told of rows in global memory: sizes and strides of a tensor with four axes, from which it
// copies boxes, with zeros for what lies outside.  From this the driver encodes a tensor map (tensor_map.cpp).
// Source: CUDA driver API, cuTensorMapEncodeTiled, for what a map can be.
#include "cuda/fused/arguments.h"

namespace locus::cuda {

/// Element (channel, row, head, sample), innermost first; 16-bit numbers, strides in bytes.
struct RowsMap {
    const void* data = nullptr;
    long long channels = 0, rows = 0, heads = 0, samples = 0;
    long long row_bytes = 0, head_bytes = 0, sample_bytes = 0;
};

/// True if the copy engine can read it: nothing is empty, and everything starts at multiples of 16 bytes.
inline bool can_be_mapped(const RowsMap& map) {
    const auto fits = [](long long extent) { return extent > 0 && extent <= 1LL << 31; };
    const auto strides = [](long long bytes) { return bytes > 0 && bytes % 16 == 0 && bytes < 1LL << 40; };
    return fits(map.channels) && fits(map.rows) && fits(map.heads) && fits(map.samples) && strides(map.row_bytes) &&
           strides(map.head_bytes) && strides(map.sample_bytes) && reinterpret_cast<std::uintptr_t>(map.data) % 16 == 0;
}

/// q, k or v.  Packed: all `tokens` of all samples are one; otherwise every sample has so many.
template <class Scalar>
constexpr RowsMap map_of_tokens(const ForwardArguments<Scalar>& args, const Rows<const Scalar>& rows, int width,
                                bool is_packed, int tokens) {
    static_assert(sizeof(Scalar) == 2);
    RowsMap map{rows.data, width, tokens, args.heads, is_packed ? 1 : args.batch, 2 * rows.row, 2 * rows.head, 0};
    // An axis of one element has any stride.
    if (map.heads == 1) map.head_bytes = map.row_bytes;
    map.sample_bytes = map.samples == 1 ? map.row_bytes : 2 * rows.sample;
    return map;
}

/// k_r or q_r.
template <class Scalar>
constexpr RowsMap map_of_table(const ForwardArguments<Scalar>& args, const Scalar* table, int width) {
    const long long row = 2LL * width, head = row * args.table_rows;
    return {table, width, args.table_rows, args.heads, 1, row, head, head * args.heads};
}

/// A map of everything that a kernel reads.  Map: what the copy engine wants to see.
template <class Map>
struct ForwardMaps {
    Map q, k, v, k_r, q_r;
};

template <class Scalar>
constexpr ForwardMaps<RowsMap> maps_of(const ForwardArguments<Scalar>& args, int width) {
    const bool packed_queries = args.first_query != nullptr, packed_keys = args.first_key != nullptr;
    const int queries = packed_queries ? args.all_queries : args.queries;
    const int keys = packed_keys ? args.all_keys : args.keys;
    return {map_of_tokens(args, args.q, width, packed_queries, queries),
            map_of_tokens(args, args.k, width, packed_keys, keys),
            map_of_tokens(args, args.v, width, packed_keys, keys), map_of_table(args, args.k_r, width),
            map_of_table(args, args.q_r, width)};
}

/// The same of the backward kernels.
template <class Map>
struct BackwardMaps {
    Map q, k, v, k_r, q_r, d_context;
};

template <class Scalar>
constexpr BackwardMaps<RowsMap> maps_of(const BackwardArguments<Scalar>& args, int width) {
    const ForwardMaps<RowsMap> maps = maps_of(args.forward, width);
    const bool is_packed = args.forward.first_query != nullptr;
    return {maps.q,
            maps.k,
            maps.v,
            maps.k_r,
            maps.q_r,
            map_of_tokens(args.forward, args.d_context, width, is_packed,
                          is_packed ? args.forward.all_queries : args.forward.queries)};
}

/// True if all that is read can be mapped; false also for packed samples of which nobody said how many tokens they are.
template <class Scalar>
bool can_be_mapped(const ForwardArguments<Scalar>& args, int width) {
    const ForwardMaps<RowsMap> maps = maps_of(args, width);
    return can_be_mapped(maps.q) && can_be_mapped(maps.k) && can_be_mapped(maps.v) &&
           (!args.k_r || can_be_mapped(maps.k_r)) && (!args.q_r || can_be_mapped(maps.q_r));
}

template <class Scalar>
bool can_be_mapped(const BackwardArguments<Scalar>& args, int width) {
    return can_be_mapped(args.forward, width) && can_be_mapped(maps_of(args, width).d_context);
}

}  // namespace locus::cuda

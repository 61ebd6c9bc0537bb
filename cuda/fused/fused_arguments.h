#pragma once
// What the fused kernels are given: plain pointers and sizes.
#include <cstdint>

#include "cuda/fused/fused_index.h"

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
    SlotLine line{};              // of queries x keys pairs
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

}  // namespace locus::cuda

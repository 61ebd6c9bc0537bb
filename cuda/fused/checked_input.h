#pragma once
// What every kernel of attention asks of its input before it reads any of it.
#include <algorithm>
#include <cmath>
#include <string>

#include "cuda/fused/fused.h"

namespace locus::cuda {

/// Of the longest sample.
struct FusedSizes {
    Index batch, heads, queries, keys, width, table;
};

inline std::string shape_text(const Shape& shape) {
    std::string text = "[";
    for (std::size_t n = 0; n < shape.size(); ++n) text += (n ? "," : "") + std::to_string(shape[n]);
    return text + "]";
}

inline void check_shape(const char* what, const Tensor<float>& tensor, const Shape& expected) {
    LOCUS_CHECK(tensor.shape() == expected, std::string("fused attention: ") + what + " has the shape " +
                                                shape_text(tensor.shape()) + ", expected " + shape_text(expected));
}

/// Throws Error(usage) for a dropout, a scale or buckets that no kernel computes with.
inline void check_options(const FusedInput& input, const RelativeBuckets& buckets) {
    LOCUS_CHECK(
        input.dropout >= 0 && input.dropout < 1,
        "fused attention: dropout is " + std::to_string(input.dropout) + ", expected 0 or more and less than 1");
    LOCUS_CHECK(input.scale > 0 && std::isfinite(input.scale),
                "fused attention: scale is " + std::to_string(input.scale) + ", expected a number above 0");
    LOCUS_CHECK(std::is_sorted(buckets.rows().begin(), buckets.rows().end()) && 2 * buckets.span() <= 65536,
                "fused attention: the rows of the buckets fall somewhere as i - j grows, or are more than 65536; the "
                "kernels need rows that never fall");
}

/// The sizes of an input whose tensors fit each other.  Throws Error(usage) that names the first that does not.
inline FusedSizes checked(const FusedInput& input, const RelativeBuckets& buckets) {
    LOCUS_CHECK(input.q.rank() == 4 && input.k.rank() == 4,
                "fused attention: q and k need four axes, [B,H,T,d]; they have the shapes " +
                    shape_text(input.q.shape()) + " and " + shape_text(input.k.shape()));
    const bool packed = !input.lengths.empty();
    const Index heads = input.q.extent(1), width = input.q.extent(3);
    FusedSizes sizes{input.q.extent(0), heads, input.q.extent(2), input.k.extent(2), width, 2 * buckets.span()};
    check_shape("k", input.k, {sizes.batch, heads, sizes.keys, width});
    check_shape("v", input.v, input.k.shape());
    if (input.k_r.size() > 0) check_shape("k_r", input.k_r, {heads, sizes.table, width});
    if (input.q_r.size() > 0) check_shape("q_r", input.q_r, {heads, sizes.table, width});
    if (packed) {
        Index tokens = 0, longest = 0;
        for (const Index length : input.lengths) {
            LOCUS_CHECK(length >= 0, "fused attention: a sample has " + std::to_string(length) + " tokens");
            tokens += length;
            longest = std::max(longest, length);
        }
        LOCUS_CHECK(sizes.batch == 1 && sizes.queries == tokens && sizes.keys == tokens,
                    "fused attention: the lengths of the packed samples add up to " + std::to_string(tokens) +
                        ", but q has the shape " + shape_text(input.q.shape()));
        LOCUS_CHECK(input.visible_keys.size() == 0, "fused attention: packed samples have no hidden keys");
        sizes.batch = static_cast<Index>(input.lengths.size());
        sizes.queries = sizes.keys = longest;
    } else if (input.visible_keys.size() > 0) {
        LOCUS_CHECK(input.visible_keys.rows() == sizes.batch && input.visible_keys.cols() == sizes.keys,
                    "fused attention: visible_keys needs a row per sample and a column per key");
    }
    LOCUS_CHECK(buckets.queries() == sizes.queries && buckets.keys() == sizes.keys,
                "fused attention: the buckets are of " + std::to_string(buckets.queries()) + " x " +
                    std::to_string(buckets.keys()) + " pairs, expected " + std::to_string(sizes.queries) + " x " +
                    std::to_string(sizes.keys));
    return sizes;
}

}  // namespace locus::cuda

#pragma once
// The least time that attention with both position terms can take: every distinct product once, every byte once.
#include <algorithm>
#include <string>

#include "core/positions/relative_buckets.h"

namespace locus::cuda {

/// What a device can do at most, as measured on it.
struct Ceilings {
    double products_per_second = 0;  // floating-point operations, a product and a sum being two
    double bytes_per_second = 0;
};

/// 16-bit tensor cores and memory of an H200 and an H100, as people report them measured.
inline constexpr Ceilings kH200{790e12, 4.3e12}, kH100{790e12, 3.35e12};

/// What a device says of itself.
struct DeviceAttributes {
    std::string name;
    int major = 0, minor = 0, multiprocessors = 0;
    double clock_hz = 0, memory_clock_hz = 0;
    int memory_bits = 0;
};

/// Of another device: what its clocks and units can do at most, which nobody measures.  Operations of 16-bit tensor
/// cores that sum in float32, per clock and multiprocessor: 8.0 2048, 8.6 and 8.9 512 (sold to players) or 1024, 9.0
/// 4096, 10.0 8192; memory moves data twice in a clock.
inline Ceilings ceilings_of(const DeviceAttributes& device) {
    if (device.name.find("H200") != std::string::npos) return kH200;
    if (device.name.find("H100") != std::string::npos) return kH100;
    const double per_clock = device.major >= 10                                 ? 8192
                             : device.major == 9                                ? 4096
                             : device.minor == 0                                ? 2048
                             : device.name.find("GeForce") != std::string::npos ? 512
                                                                                : 1024;
    return {per_clock * device.multiprocessors * device.clock_hz, 2 * device.memory_clock_hz * device.memory_bits / 8};
}

struct Work {
    double operations = 0, bytes = 0;

    double seconds(const Ceilings& at) const {
        return std::max(operations / at.products_per_second, bytes / at.bytes_per_second);
    }
};

/// Distinct rows of the table that a query reaches, or that reach a key, summed over queries and keys.
inline double reached_rows(const RelativeBuckets& buckets) {
    double reached = 0;
    for (Index i = 0; i < buckets.queries(); ++i)
        reached += static_cast<double>(buckets.row(i, 0) - buckets.row(i, buckets.keys() - 1)) + 1;
    for (Index j = 0; j < buckets.keys(); ++j)
        reached += static_cast<double>(buckets.row(buckets.queries() - 1, j) - buckets.row(0, j)) + 1;
    return reached;
}

/// Forward: q k^T and probabilities v, 2 T^2 d operations each, and the products of each query with the distinct rows
/// that it reaches, and of each key with those that reach it; q, k, v, context and both tables once, 2 bytes a number.
inline Work forward_work(Index batch, Index heads, Index width, const RelativeBuckets& buckets) {
    const double d = static_cast<double>(width), batch_heads = static_cast<double>(batch * heads);
    const auto queries = static_cast<double>(buckets.queries()), keys = static_cast<double>(buckets.keys());
    const double rows = static_cast<double>(buckets.rows().back() - buckets.rows().front()) + 1;
    return {batch_heads * (4 * queries * keys * d + 2 * d * reached_rows(buckets)),
            2 * d * (batch_heads * 2 * (queries + keys) + static_cast<double>(heads) * 2 * rows)};
}

/// Backward: the scores again, dO v^T, dV, dQ and dK, and of each position term its scores, its share of dQ or dK and
/// the gradient of its table; beside forward's inputs and context dO, dQ, dK and dV once, 2 bytes a number, and the
/// tables' gradients once, 4 bytes a number.
inline Work backward_work(Index batch, Index heads, Index width, const RelativeBuckets& buckets) {
    const double d = static_cast<double>(width), batch_heads = static_cast<double>(batch * heads);
    const auto queries = static_cast<double>(buckets.queries()), keys = static_cast<double>(buckets.keys());
    const double rows = static_cast<double>(buckets.rows().back() - buckets.rows().front()) + 1;
    return {batch_heads * (10 * queries * keys * d + 3 * 2 * d * reached_rows(buckets)),
            2 * d * (batch_heads * 4 * (queries + keys) + static_cast<double>(heads) * 6 * rows)};
}

}  // namespace locus::cuda

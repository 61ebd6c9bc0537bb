#pragma once
// The ladder: disentangled attention six times, each version with what changed (versions.h).  float32, one thread an
// element until the fourth version, and all of them the same context.
//
//   1 naive        three dot products a score; scores, probabilities and context each in memory
//   2 gather       two tables of products, and an index gathers from them: what frameworks do
//     + cuBLAS     the same with products from a library, where it is installed
//   3 slices       the same tables; the row is a function of i - j, so one pass adds all three terms
//   4 flash table  the tables stay in memory, scores and probabilities never get there
//   5 fused        ../fused/fused_forward.h and portable_forward.h: the tables do not get there either
//
// What each step buys is measured by `locus bench cuda` where there is a device (tests/bench/README.md).
#include <array>

#include "cuda/fused/fused.h"

namespace locus::cuda {

enum class KernelVersion { naive, gather, cublas_gather, slices, flash_table, fused };

struct NamedVersion {
    KernelVersion version;
    const char* name;
};
inline constexpr std::array<NamedVersion, 6> kKernelVersions = {{{KernelVersion::naive, "naive"},
                                                                 {KernelVersion::gather, "gather"},
                                                                 {KernelVersion::cublas_gather, "gather, cuBLAS"},
                                                                 {KernelVersion::slices, "slices"},
                                                                 {KernelVersion::flash_table, "flash with tables"},
                                                                 {KernelVersion::fused, "fused"}}};

/// The context [B,H,Tq,d] of padded samples with both terms, without hidden keys or dropout, computed on that version.
/// Throws Error(usage) for an input that has other things, what fused_attention throws, and Error(unsupported) if the
/// version needs cuBLAS and it is not installed.
Tensor<float> launch(KernelVersion version, const FusedInput& input, const RelativeBuckets& buckets);

/// Milliseconds of one whole version, its passes together, median of the rounds; everything lies on the device before.
double time_version(KernelVersion version, const FusedInput& input, const RelativeBuckets& buckets, int rounds = 20);

}  // namespace locus::cuda

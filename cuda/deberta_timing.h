#pragma once
// How long a whole encoder takes on this device, with random weights.
#include "cuda/deberta_blocks.h"

namespace locus::cuda {

/// microsoft/deberta-v3-base as its config.json has it.
DebertaConfig v3_base_config();

struct TimedEncoder {
    std::string products;  // who multiplied: "own kernels", "cuBLAS 13.0.2"
    TimedKernel plain, graph;
};

/// `batch` samples of `tokens` random words, all visible: hidden rows of the last layer from ids that lie on the
/// device, kernel by kernel and in a graph.  precision: f32, f16 or bf16.  Throws what DebertaBlocks throws.
TimedEncoder time_encoder(const DebertaConfig& config, int batch, int tokens, FusedPrecision precision, ProductsBy by,
                          int rounds = 30);

}  // namespace locus::cuda

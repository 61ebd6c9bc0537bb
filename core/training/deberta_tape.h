#pragma once
// What a training step's forward pass leaves behind for its backward pass.
// Rows: N, the tokens of all sentences one behind the other (core/training/batch.h).
#include <memory>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "core/training/attention_engine.h"

namespace locus {

template <class Scalar>
using SharedRows = std::shared_ptr<const Matrix<Scalar>>;

/// Inside one layer; heads lie side by side in D, head h in the columns h d ... h d + d - 1.
template <class Scalar>
struct LayerInside {
    Matrix<Scalar> q, k, v;                          // [N,D]
    Matrix<Scalar> table, k_r, q_r;                  // [2k,D]: the table as this layer saw it, and its two projections
    std::vector<Matrix<Scalar>> probs;               // [T,T] of sentence b and head h at b H + h, before dropout
    std::shared_ptr<const PackedContext> elsewhere;  // instead of probs where an engine computed the attention
    Matrix<Scalar> context;                          // [N,D]
    Matrix<Scalar> attention_sum, attention;         // [N,D], before the norm and behind it
    Matrix<Scalar> ffn_in, ffn_act;                  // [N,F], before the activation and behind it
    Matrix<Scalar> output_sum;                       // [N,D], before the norm
};

/// One run of one layer: encoder layers run once, the last one again in every pass of the decoder.
template <class Scalar>
struct LayerUse {
    Index layer = 0, use = 0;  // whose weights, and the how-manieth run of this step
    SharedRows<Scalar> kv, query;
    std::optional<LayerInside<Scalar>> inside;  // none with gradient checkpointing: made again when it is needed
};

template <class Scalar>
struct ConvolutionTape {
    Matrix<Scalar> before_act;  // [N,D], masked and dropped
    Matrix<Scalar> sum;         // [N,D], before the norm
};

template <class Scalar>
struct DebertaTape {
    Matrix<Scalar> norm_input;      // [N,D], what the norm of the embeddings was given
    SharedRows<Scalar> embeddings;  // [N,D], what the first layer sees
    SharedRows<Scalar> output;      // [N,D], what a head reads
    std::vector<LayerUse<Scalar>> uses;
    ConvolutionTape<Scalar> convolution;

    /// Bytes of everything kept.
    std::size_t bytes() const;
};

}  // namespace locus

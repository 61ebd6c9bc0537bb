#pragma once
// DeBERTa of versions 2 and 3 in training: the pass of core/models/deberta.h with dropout and a tape, and every formula
// of its gradient.  He et al. 2021; microsoft/DeBERTa; checked against torch's autograd of it.
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/fast/matrix_products.h"
#include "core/fast/thread_pool.h"
#include "core/models/deberta_config.h"
#include "core/models/dialect.h"
#include "core/tensor.h"
#include "core/trace.h"
#include "core/training/attention_engine.h"
#include "core/training/batch.h"
#include "core/training/parameters.h"
#include "core/training/random.h"

namespace locus {

// What the forward pass of a training step keeps for its backward pass.
// Rows: N, the tokens of all sentences one after the other (core/training/batch.h).

template <class Scalar>
using SharedRows = std::shared_ptr<const Matrix<Scalar>>;

/// Inside one layer; heads lie side by side in D, head h in the columns h d ... h d + d - 1.
template <class Scalar>
struct LayerInside {
    Matrix<Scalar> q, k, v;                           // [N,D]
    Matrix<Scalar> table, k_r, q_r;                   // [2k,D]: the table as this layer saw it, and its two projections
    std::vector<Matrix<Scalar>> probs;                // [T,T] of sentence b and head h at b H + h, before dropout
    std::shared_ptr<const PackedContext> on_backend;  // instead of probs where a backend computed the attention
    Matrix<Scalar> context;                           // [N,D]
    Matrix<Scalar> attention_sum, attention;          // [N,D], before the norm and after it
    Matrix<Scalar> ffn_in, ffn_act;                   // [N,F], before the activation and after it
    Matrix<Scalar> output_sum;                        // [N,D], before the norm
};

/// One run of one layer: encoder layers run once, the last one again in every pass of the decoder.
template <class Scalar>
struct LayerUse {
    Index layer = 0, use = 0;  // whose weights, and which of its runs in this step, from 0
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

/// How a model is trained, beside its configuration.
struct TrainingSwitches {
    bool decoder = true;         // heads read the enhanced mask decoder, not the last layer
    bool checkpointing = false;  // layers keep only their input and are run again in the backward pass
    /// Computes the attention of batches without masks, in float, on another device; none: the processor.
    AttentionEngine* engine = nullptr;
    OffsetClamp offset_clamp = OffsetClamp::official;
    CountedTerms counted_terms = CountedTerms::active;
};

/// Holds no parameter: values and gradients are the caller's, so that several models can share or perturb them.  What a
/// caller's gradients do not hold is frozen: it gets none.
/// One call at a time.
template <class Scalar>
class DebertaTraining {
public:
    /// Throws Error(unsupported) for version 1 and for a decoder where positions enter with the embeddings, E is not D
    /// or there are fewer than two layers.
    DebertaTraining(DebertaConfig config, TrainingSwitches switches, ThreadPool& pool);

    const DebertaConfig& config() const { return config_; }
    const TrainingSwitches& switches() const { return switches_; }

    /// Word (and type, and position) rows, projected to D: what the norm of the embeddings is given -> [N,D].
    /// Throws Error(usage) for a token outside the vocabulary, Error(unsupported) for more tokens in a sentence than
    /// the absolute table has rows.
    Matrix<Scalar> embedding_sum(const Parameters<Scalar>& values, const PackedBatch& batch);
    /// From there to what a head reads, tape.output [N,D].
    DebertaTape<Scalar> forward(const Parameters<Scalar>& values, const PackedBatch& batch, Matrix<Scalar> norm_input,
                                const Dropout& dropout);
    /// The backward pass: adds to the gradients of everything above the embeddings' sum, returns that of the sum [N,D].
    /// values, batch and dropout are those of forward.  `stages` receives grad.<stage> where its filter wants any;
    /// then all sentences must have one length.
    Matrix<Scalar> backward(const Parameters<Scalar>& values, const PackedBatch& batch, const DebertaTape<Scalar>& tape,
                            const Dropout& dropout, const ConstView<Scalar>& d_output, Parameters<Scalar>& gradients,
                            Trace* stages = nullptr);
    /// Adds to the gradients of the tables below.  The lookups of pad_token_id add nothing (nn.Embedding's
    /// padding_idx).
    void embedding_sum_backward(const Parameters<Scalar>& values, const PackedBatch& batch,
                                const ConstView<Scalar>& d_sum, Parameters<Scalar>& gradients);

    ThreadPool& pool() { return pool_; }
    ProductBuffers<Scalar>& buffers() { return buffers_; }

private:
    /// The tables' rows before their projection -> [N,E].
    Matrix<Scalar> table_rows(const Parameters<Scalar>& values, const PackedBatch& batch) const;
    Matrix<Scalar> relative_table(const Parameters<Scalar>& values) const;
    void relative_table_backward(const Parameters<Scalar>& values, const ConstView<Scalar>& d_table,
                                 Parameters<Scalar>& gradients) const;
    void prepare_buckets(const PackedBatch& batch);
    /// Layers the encoder runs: the decoder runs the last one in its own way, and what the encoder would make of it
    /// nobody reads.
    Index encoder_uses() const { return config_.num_hidden_layers - (switches_.decoder ? 1 : 0); }

    DebertaConfig config_;
    TrainingSwitches switches_;
    ThreadPool& pool_;
    ProductBuffers<Scalar> buffers_;
    std::map<Index, RelativeBuckets> buckets_;
};

extern template class DebertaTraining<float>;
extern template class DebertaTraining<double>;

}  // namespace locus

#pragma once
// DeBERTa of versions 2 and 3 in training: the pass of core/models/deberta.h with dropout and a tape, and every formula
// of its gradient.  He et al. 2021; microsoft/DeBERTa; checked against torch's autograd of it.
#include <map>
#include <memory>

#include "core/fast/matrix_products.h"
#include "core/fast/thread_pool.h"
#include "core/models/deberta_config.h"
#include "core/trace.h"
#include "core/training/attention_engine.h"
#include "core/training/batch.h"
#include "core/training/deberta_tape.h"
#include "core/training/dropout.h"
#include "core/training/parameters.h"

namespace locus {

/// How a model is trained, beside its configuration.
struct TrainingSwitches {
    bool decoder = true;         // heads read the enhanced mask decoder, not the last layer
    bool checkpointing = false;  // layers keep only their input and are run again on the way back
    AttentionEngine* engine =
        nullptr;  // computes the attention of batches without masks, in float; none: the processor
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
    /// The way back: adds to the gradients of everything above the embeddings' sum, returns that of the sum [N,D].
    /// values, batch and dropout are those of forward.  `stages` receives grad.<stage> where its filter wants any;
    /// then all sentences must have one length.
    Matrix<Scalar> backward(const Parameters<Scalar>& values, const PackedBatch& batch, const DebertaTape<Scalar>& tape,
                            const Dropout& dropout, const ConstView<Scalar>& d_output, Parameters<Scalar>& gradients,
                            Trace* stages = nullptr);
    /// Adds to the gradients of the tables below.  Word 0 gets none: it stands for padding (nn.Embedding, padding_idx).
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
    void prepare_lines(const PackedBatch& batch);
    /// Layers the encoder runs: the decoder runs the last one in its own way, and what the encoder would make of it
    /// nobody reads.
    Index encoder_uses() const { return config_.num_hidden_layers - (switches_.decoder ? 1 : 0); }

    DebertaConfig config_;
    TrainingSwitches switches_;
    ThreadPool& pool_;
    ProductBuffers<Scalar> buffers_;
    std::map<Index, RelativeBuckets> lines_;
};

extern template class DebertaTraining<float>;
extern template class DebertaTraining<double>;

}  // namespace locus

#pragma once
// The steps of DebertaTraining; deberta_training.cpp walks through them.  Not for other rooms of the house.
#include <map>
#include <string>

#include "core/attention/disentangled.h"
#include "core/fast/matrix_products.h"
#include "core/fast/thread_pool.h"
#include "core/models/deberta_config.h"
#include "core/positions/relative_buckets.h"
#include "core/trace.h"
#include "core/training/batch.h"
#include "core/training/deberta_tape.h"
#include "core/training/deberta_training.h"
#include "core/training/dropout.h"
#include "core/training/parameters.h"

namespace locus {

/// What stays the same from the first embedding to the last gradient of one training step.
template <class Scalar>
struct TrainingPass {
    const DebertaConfig& config;
    const Parameters<Scalar>& values;
    const PackedBatch& batch;
    const Dropout& dropout;
    const std::map<Index, RelativeBuckets>& lines;  // by length of sentence
    ProductBuffers<Scalar>& buffers;
    ThreadPool& pool;
    AttentionEngine* engine = nullptr;  // none: attention is computed here

    Index heads() const { return config.num_attention_heads; }
    Index head_width() const { return config.attention_head_size; }
    /// sqrt(n d).
    Scalar divisor() const { return score_divisor<Scalar>(config.terms.count(), head_width()); }
    const RelativeBuckets& line(Index sentence) const { return lines.at(batch.length(sentence)); }

    /// x [N,in] -> [N,out]: the dense layer of this name.
    Matrix<Scalar> dense(const ConstView<Scalar>& x, const std::string& name) const;
    /// Adds to the gradients of weight and bias, and returns that of x.
    Matrix<Scalar> dense_backward(const ConstView<Scalar>& x, const std::string& name, const ConstView<Scalar>& d_y,
                                  Parameters<Scalar>& gradients) const;
    /// The same, with the gradient of x added to d_x.
    void dense_backward(const ConstView<Scalar>& x, const std::string& name, const ConstView<Scalar>& d_y,
                        Parameters<Scalar>& gradients, Matrix<Scalar>& d_x) const;
    /// x [N,D] -> [N,D], and back: adds to the gradients of weight and bias, and returns that of x.
    Matrix<Scalar> norm(const ConstView<Scalar>& x, const std::string& name) const;
    Matrix<Scalar> norm_backward(const ConstView<Scalar>& x, const std::string& name, const ConstView<Scalar>& d_y,
                                 Parameters<Scalar>& gradients) const;
    /// Element by element, and back.
    Matrix<Scalar> activate(const ConstView<Scalar>& x, Activation activation) const;
    void activate_backward(const ConstView<Scalar>& x, Activation activation, View<Scalar> d_y) const;
    /// Dropout of a site in the use-th run of a layer; the same call backwards, because it is a product.
    void drop(DropoutSite site, Index use, View<Scalar> rows) const;
    /// Rows of hidden tokens become 0.
    void hide(View<Scalar> rows) const;
    /// Of a dense layer's weight and bias, where they are not frozen.
    void add_weight_gradients(const ConstView<Scalar>& x, const std::string& name, const ConstView<Scalar>& d_y,
                              Parameters<Scalar>& gradients) const;
};

/// The parts above, for a head that stands on the model.
template <class Scalar>
struct HeadPass {
    HeadPass(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values, const PackedBatch& batch)
        : pass{model.config(), values, batch, none, lines, model.buffers(), model.pool()} {}
    Dropout none;
    std::map<Index, RelativeBuckets> lines;
    TrainingPass<Scalar> pass;
};

/// Gradients of stages for a trace: all sentences of one length, so that rows are [B,T,D].
template <class Scalar>
struct StageGradients {
    Trace* trace = nullptr;  // none: nothing is kept
    std::string prefix;      // "layer.3" or "emd.0"
    Index batch = 0, heads = 0;

    bool wants(const char* stage) const { return trace && trace->wants("grad." + prefix + stage); }
    /// rows [B*T,W] as [B,T,W]; heads side by side as [B,H,T,d].
    void keep(const char* stage, const ConstView<Scalar>& rows) const;
    void keep_heads(const char* stage, const ConstView<Scalar>& rows) const;
    /// [T,T] for each sentence and head.
    void keep_scores(const char* stage, const std::vector<Matrix<Scalar>>& scores) const;
    /// [2k,D] as [H,2k,d].
    void keep_table(const char* stage, const ConstView<Scalar>& table) const;
};

/// Fills q, k, v, table, k_r, q_r, probs and context.  relative_table [2k,D] behind its norm; empty without relative
/// attention.
template <class Scalar>
void attention_forward(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                       const Matrix<Scalar>& relative_table, LayerInside<Scalar>& inside);

/// Adds to d_kv, d_query [N,D], d_relative_table [2k,D] and the gradients of the projections.
template <class Scalar>
void attention_backward(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                        const LayerInside<Scalar>& inside, const ConstView<Scalar>& d_context, Matrix<Scalar>& d_kv,
                        Matrix<Scalar>& d_query, Matrix<Scalar>& d_relative_table, Parameters<Scalar>& gradients,
                        const StageGradients<Scalar>& stages);

/// Gradients of one layer's operands, heads side by side, and of the raw sum of terms where somebody wants it.
template <class Scalar>
struct OperandGradients {
    Matrix<Scalar> q, k, v, k_r, q_r;
    std::vector<Matrix<Scalar>> scores;
};

/// True if the pass has an engine and it computed the context; it takes no masks and works in float.
template <class Scalar>
bool forward_on_backend(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use, LayerInside<Scalar>& inside);
/// The engine's gradients of what it computed.
template <class Scalar>
OperandGradients<Scalar> gradients_elsewhere(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                                             const LayerInside<Scalar>& inside, const ConstView<Scalar>& d_context);

/// One post-norm layer (spec 3.2) with dropout: fills inside, returns its output [N,D].
template <class Scalar>
Matrix<Scalar> layer_forward(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                             const Matrix<Scalar>& relative_table, LayerInside<Scalar>& inside);
/// Adds to d_kv and d_query, which may be one and the same matrix, and to the rest as above.
template <class Scalar>
void layer_backward(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use, const LayerInside<Scalar>& inside,
                    const ConstView<Scalar>& d_output, Matrix<Scalar>& d_kv, Matrix<Scalar>& d_query,
                    Matrix<Scalar>& d_relative_table, Parameters<Scalar>& gradients,
                    const StageGradients<Scalar>& stages);

/// The convolution of the embeddings, merged into the output of layer 0 (spec 3.4).
template <class Scalar>
Matrix<Scalar> convolution_forward(const TrainingPass<Scalar>& pass, const Matrix<Scalar>& embeddings,
                                   const Matrix<Scalar>& layer_output, ConvolutionTape<Scalar>& tape);
/// Returns the gradient of layer_output and adds to that of the embeddings.
template <class Scalar>
Matrix<Scalar> convolution_backward(const TrainingPass<Scalar>& pass, const Matrix<Scalar>& embeddings,
                                    const ConvolutionTape<Scalar>& tape, const ConstView<Scalar>& d_output,
                                    Matrix<Scalar>& d_embeddings, Parameters<Scalar>& gradients);

}  // namespace locus

#pragma once
// What every step of a training pass needs, and the small steps themselves: dense layers, norms, activations, dropout
// and absolute positions, each with its backward pass.  For core/training alone.
#include <map>
#include <string>

#include "core/attention/disentangled.h"
#include "core/fast/matrix_products.h"
#include "core/fast/thread_pool.h"
#include "core/models/deberta.h"
#include "core/models/deberta_config.h"
#include "core/positions/relative_buckets.h"
#include "core/trace.h"
#include "core/training/batch.h"
#include "core/training/deberta_training.h"
#include "core/training/parameters.h"
#include "core/training/random.h"

namespace locus {

/// What stays the same from the first embedding to the last gradient of one training step.
template <class Scalar>
struct TrainingContext {
    const DebertaConfig& config;
    const Parameters<Scalar>& values;
    const PackedBatch& batch;
    const Dropout& dropout;
    const std::map<Index, RelativeBuckets>& buckets;  // by length of sentence
    ProductBuffers<Scalar>& buffers;
    ThreadPool& pool;
    AttentionEngine* engine = nullptr;  // none: attention is computed here
    CountedTerms counted_terms = CountedTerms::active;

    Index heads() const { return config.num_attention_heads; }
    Index head_width() const { return config.attention_head_size; }
    /// sqrt(n d).
    Scalar divisor() const {
        DebertaOptions options;
        options.counted_terms = counted_terms;
        return score_divisor<Scalar>(deberta_divisor_terms(config, options), head_width());
    }
    const RelativeBuckets& buckets_of(Index sentence) const { return buckets.at(batch.length(sentence)); }

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
struct HeadContext {
    HeadContext(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values, const PackedBatch& batch)
        : pass{model.config(), values, batch, none, buckets, model.buffers(), model.pool()} {}
    Dropout none;
    std::map<Index, RelativeBuckets> buckets;
    TrainingContext<Scalar> pass;
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

/// Absolute positions join the embeddings, or the first query of the mask decoder.
/// Throws Error(unsupported) where a sentence is longer than the absolute table.
void check_positions(const DebertaConfig& config, const PackedBatch& batch);

/// rows[t] += table[t] in every sentence.  rows [N,E].
template <class Scalar>
void add_positions(const Parameters<Scalar>& values, const PackedBatch& batch, Matrix<Scalar>& rows);

/// d_table[t] += d_rows[t] of every sentence, unless the table is frozen.
template <class Scalar>
void add_positions_backward(const PackedBatch& batch, const ConstView<Scalar>& d_rows, Parameters<Scalar>& gradients);

}  // namespace locus

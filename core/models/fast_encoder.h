#pragma once
// The one place where core/models meets core/fast: the layers of DeBERTa for everybody who looks at their outputs and
// not inside them.  The formulas are those of core/models/deberta.h, and the tests hold the two together: on every
// recorded case within the tolerance of that case or the rounding that core/compare.h derives.
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/fast/disentangled.h"
#include "core/fast/matrix_products.h"
#include "core/models/deberta.h"
#include "core/models/deberta_weights.h"

namespace locus {

/// True where the fast path computes this model: it has c2p or p2c and no talking heads.
bool has_fast_path(const DebertaConfig& config);

/// Keeps packed weights and its buffers; one call at a time.
template <class Scalar>
class FastEncoder {
public:
    /// Reads weights as their layers are run; they must outlive this.
    /// Throws Error(unsupported) for a model that has no fast path.
    explicit FastEncoder(const DebertaWeights<Scalar>& weights);
    /// The same over weights of its own.  Throws Error(unreadable) like Deberta.
    FastEncoder(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights);

    const DebertaConfig& config() const { return weights_.config(); }

    /// One whole layer, the convolution beside layer 0 excepted: keys and values from kv [B,T,D], queries and the
    /// residual from query [B,T,D] -> [B,T,D].  masks per sample as in DisentangledBlocks; null: everything is visible.
    Tensor<Scalar> layer_output(Index layer, const Tensor<Scalar>& kv, const Tensor<Scalar>& query,
                                const std::vector<Mask>* masks, const DebertaOptions& options, ThreadPool& pool);
    /// The same where a layer attends to its own input x [B,T,D].
    Tensor<Scalar> layer_output(Index layer, const Tensor<Scalar>& x, const std::vector<Mask>* masks,
                                const DebertaOptions& options, ThreadPool& pool) {
        return layer_output(layer, x, x, masks, options, pool);
    }
    /// The same for samples of any lengths, whose rows lie one after the other without padding: kv, query [N,D] ->
    /// [N,D], each sample as if it were alone.   Throws Error(usage) if the lengths are not N together.
    Matrix<Scalar> packed_output(Index layer, const ConstView<Scalar>& kv, const ConstView<Scalar>& query,
                                 const std::vector<Index>& lengths, const std::vector<Mask>* masks,
                                 const DebertaOptions& options, ThreadPool& pool);
    /// The attention of one layer up to the joined heads: x [B,T,D] -> context [B,T,D].
    Tensor<Scalar> layer_context(Index layer, const Tensor<Scalar>& x, const std::vector<Mask>* masks,
                                 const DebertaOptions& options, ThreadPool& pool);

    /// The output of the last encoder layer [B,T,D]: Deberta's stage layer.{L-1}.output without a trace.
    /// Throws Error(usage) for bad input like Deberta::forward.
    Tensor<Scalar> last_output(const ModelInput& input, const DebertaOptions& options, ThreadPool& pool) {
        return last_outputs({input}, options, pool).front();
    }
    /// The same of several inputs, which need not be equally long: nothing is padded.
    std::vector<Tensor<Scalar>> last_outputs(const std::vector<ModelInput>& inputs, const DebertaOptions& options,
                                             ThreadPool& pool);
    /// The encoder over the inputs of these passes, whose traces get the embeddings: calls after(layer, rows [N,D]) for
    /// every layer and ends where that answers false.  -> the rows it came to.
    Matrix<Scalar> run(const std::vector<ForwardContext<Scalar>>& passes, ThreadPool& pool,
                       const std::function<bool(Index layer, const Matrix<Scalar>& rows)>& after);
    /// Runs the encoder and calls visit(head) for every head of every layer and sample: layer by layer, the heads of
    /// a layer in any order and on all threads of the pool at once.  `stop` is asked before every layer and ends this
    /// by throwing Cancelled.
    void visit_heads(const ModelInput& input, const DebertaOptions& options, ThreadPool& pool,
                     const VisitHead<Scalar>& visit, const CancelToken& stop);

private:
    struct Layer {
        PackedDense<Scalar> q, kv, out, up, down;
        Norm<Scalar> attention_norm, output_norm;
    };
    const Layer& packed(Index layer, ThreadPool& pool);
    /// Position tables of a layer for texts of up to `length` tokens.  Laid out anew for every pass: those of all
    /// layers together fit no cache (v3-base at T 512: 90 MB), and to fetch them from memory takes as long.
    const OffsetTables<Scalar>& tables(Index layer, Index length, const DebertaOptions& options, ThreadPool& pool);
    /// y = activation(x W^T + bias).
    void dense(const ConstView<Scalar>& x, const PackedDense<Scalar>& layer, Activation activation, View<Scalar> y,
               ThreadPool& pool);
    /// y = norm(x + residual), row by row; y may be x.
    void add_and_norm(const ConstView<Scalar>& x, const ConstView<Scalar>& residual, const Norm<Scalar>& norm,
                      View<Scalar> y, ThreadPool& pool);
    /// Fills projections_ and context_.
    void attend(Index layer, const ConstView<Scalar>& kv, const ConstView<Scalar>& query,
                const std::vector<Index>& lengths, const std::vector<Mask>* masks, const DebertaOptions& options,
                ThreadPool& pool);

    std::unique_ptr<const DebertaWeights<Scalar>> own_;
    const DebertaWeights<Scalar>& weights_;
    std::vector<std::unique_ptr<Layer>> layers_;
    OffsetTables<Scalar> tables_;  // of the last layer that ran
    BlockBuffers<Scalar> buffers_;
    AlignedRows<Scalar> projections_;  // [N,3D]: queries, keys and values of the last layer that ran
    AlignedRows<Scalar> context_, attention_, act_, down_;
};

/// A fast encoder with a team of threads of its own, one for each core.  Callers may be on any thread: hold the guard
/// to use it.
template <class Scalar>
struct FastPath {
    explicit FastPath(const DebertaWeights<Scalar>& weights);
    std::mutex guard;
    FastEncoder<Scalar> encoder;
    ThreadPool pool;
};

extern template class FastEncoder<float>;
extern template class FastEncoder<double>;
extern template struct FastPath<float>;
extern template struct FastPath<double>;

}  // namespace locus

#pragma once
// A DeBERTa encoder for whoever wants its last rows and no stage: the forward pass of core/models/deberta.h on the fast
// path.  What the model is stays written there; the tests hold the two together.
#include <memory>
#include <optional>
#include <vector>

#include "core/fast/disentangled_blocks.h"
#include "core/fast/packed_dense.h"
#include "core/models/deberta_weights.h"
#include "core/models/dialect.h"
#include "core/models/model_input.h"

namespace locus {

/// Keeps packed weights, position tables of the last length and its buffers; one call at a time.
template <class Scalar>
class FastEncoder {
public:
    /// Reads every weight of the encoder.  Throws Error(unreadable) like Deberta, Error(unsupported) for a model with
    /// talking heads or without c2p and p2c.
    FastEncoder(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights);

    const DebertaConfig& config() const { return weights_.config(); }
    /// The output of the last encoder layer [B,T,D]: Deberta's stage layer.{L-1}.output without a trace.
    /// Throws Error(usage) for bad input like Deberta::forward.
    Tensor<Scalar> last_output(const ModelInput& input, const DebertaOptions& options, ThreadPool& pool);
    /// One encoder layer: x [B,T,D] -> [B,T,D] (layer 0 without the convolution).  masks per sample as in
    /// DisentangledBlocks; null: everything is visible.
    Tensor<Scalar> layer_output(Index layer, const Tensor<Scalar>& x, const std::vector<Mask>* masks,
                                const DebertaOptions& options, ThreadPool& pool);
    /// The attention of one layer up to the joined heads: x [B,T,D] -> context [B,T,D].
    Tensor<Scalar> layer_context(Index layer, const Tensor<Scalar>& x, const std::vector<Mask>* masks,
                                 const DebertaOptions& options, ThreadPool& pool);

private:
    struct Layer {
        PackedDense<Scalar> qkv, out, up, down;
        Norm<Scalar> attention_norm, output_norm;
        std::optional<OffsetTables<Scalar>> tables;
    };
    /// What tables of a layer depend on besides its weights.
    struct TableKey {
        Index length = 0;
        OffsetClamp clamp = OffsetClamp::official;
        P2cIndex index = P2cIndex::official_ij;
        bool operator==(const TableKey&) const = default;
    };
    const OffsetTables<Scalar>& tables(Index layer, Index length, const DebertaOptions& options, ThreadPool& pool);
    /// y += residual, then the norm, row by row.
    void add_and_norm(const ConstView<Scalar>& residual, const Norm<Scalar>& norm, Matrix<Scalar>& y, ThreadPool& pool);
    void attend(Index layer, const ConstView<Scalar>& x, Index length, const std::vector<Mask>* masks,
                const DebertaOptions& options, ThreadPool& pool);

    DebertaWeights<Scalar> weights_;
    std::vector<Layer> layers_;
    TableKey key_;
    BlockBuffers<Scalar> buffers_;
    Matrix<Scalar> qkv_, context_, attention_, act_, output_;
};

extern template class FastEncoder<float>;
extern template class FastEncoder<double>;

}  // namespace locus

#pragma once
// The rooms of one DeBERTa forward pass; deberta.cpp walks through them.  Not for other rooms of the house.
#include <optional>
#include <string>
#include <vector>

#include "core/models/deberta_weights.h"
#include "core/models/dialect.h"
#include "core/models/model_input.h"
#include "core/trace.h"

namespace locus {

template <class Scalar>
struct FastPath;

/// What stays the same from the first embedding to the last logit.
template <class Scalar>
struct DebertaPass {
    const DebertaWeights<Scalar>& weights;
    const ModelInput& input;
    const DebertaOptions& options;
    Trace& trace;
    std::vector<Mask> masks;              // [T,T] per sample; all empty where everything is visible
    std::optional<RelativeBuckets> line;  // none without relative attention
    FastPath<Scalar>* fast = nullptr;     // computes whole layers where no stage inside them is wanted

    const DebertaConfig& config() const { return weights.config(); }
    /// Does the arithmetic.
    const Operations<Scalar>& compute() const { return weights.operations(); }
};

/// Who sees whom, [T,T] per sample, all empty where everything is visible.  A mask of tokens becomes an outer product:
/// hidden tokens neither look nor are looked at (spec 2.8).
std::vector<Mask> pair_masks(const ModelInput& input);

/// n of the scale sqrt(n d).
int deberta_divisor_terms(const DebertaConfig& config, const DebertaOptions& options);

/// The bucket line of a model for T x T pairs.
RelativeBuckets deberta_line(const DebertaConfig& config, Index length, OffsetClamp clamp);

/// Visible tokens [B*T] as 0 or 1; empty where everything is visible.  In a 3-D mask a token is visible if anyone sees
/// it.
template <class Scalar>
RowVector<Scalar> visible_tokens(const ModelInput& input);

/// Word, type and position rows, projection, norm, mask -> [B,T,D].  spec 3.1; microsoft/DeBERTa bert.py
/// BertEmbeddings.
template <class Scalar>
Tensor<Scalar> deberta_embeddings(const DebertaPass<Scalar>& pass);

/// Disentangled attention of one layer, up to the joined heads.
/// Keys and values come from kv [B,T,D], queries from query [B,T,D] -> context [B,T,D]; empty if nobody needs it.
/// `prefix` names the stages: "layer.3" or "emd.0".
template <class Scalar>
Tensor<Scalar> deberta_attention(const DebertaPass<Scalar>& pass, const std::string& prefix, Index layer,
                                 const Tensor<Scalar>& kv, const Tensor<Scalar>& query, bool context_needed);

/// One whole post-norm layer (spec 3.2); the residual is the query -> plain output [B,T,D], empty if nobody needs it.
template <class Scalar>
Tensor<Scalar> deberta_layer(const DebertaPass<Scalar>& pass, const std::string& prefix, Index layer,
                             const Tensor<Scalar>& kv, const Tensor<Scalar>& query, bool output_needed);

/// Merges the convolution of the encoder's input into the output of layer 0 (spec 3.4) -> [B,T,D].
template <class Scalar>
Tensor<Scalar> deberta_convolution(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& embeddings,
                                   const Tensor<Scalar>& layer_output);

/// The enhanced mask decoder over h, the input of the last layer (spec 4.1, and 4.3 for the seed's) -> [B,T,D].
template <class Scalar>
Tensor<Scalar> deberta_decoder(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& h, bool output_needed);

/// mlm.*: the masked-word head over x [B,T,D].  spec 4.4.
template <class Scalar>
void deberta_head(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& x);

/// Passes of the last layer in the decoder: the literal 2 of the official code.
inline constexpr int kDecoderPasses = 2;

}  // namespace locus

#pragma once
// DeBERTa versions 1, 2 and 3 for inference: embeddings, encoder, enhanced mask decoder, masked-word head.
// He et al. 2021; microsoft/DeBERTa; transformers modeling_deberta(_v2).py.  Dropout is off.
//
// `Deberta` is the model.  Below it stand the steps of its forward pass in the order of the paper; other code that runs
// a part of the model (the fast encoder, the CUDA encoder, training, the conformance kit) shares them.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "core/models/classifier_head.h"
#include "core/models/deberta_config.h"
#include "core/models/deberta_weights.h"
#include "core/models/dialect.h"
#include "core/models/model_input.h"
#include "core/models/operations.h"
#include "core/trace.h"
#include "core/weights.h"

namespace locus {

/// One head of one layer, as a picture of all heads shows it: the raw terms and the probabilities, [T,T] each, by the
/// readable formulas of core/attention.  c2p and p2c are empty where the model has none.
template <class Scalar>
struct HeadOverview {
    Index layer = 0, sample = 0, head = 0;
    Matrix<Scalar> c2c, c2p, p2c, probs;
};
template <class Scalar>
using VisitHead = std::function<void(const HeadOverview<Scalar>&)>;

/// Every head of every layer by passes that keep the terms of some layers each; `run` makes the trace of one.
template <class Scalar>
void visit_heads_by(const std::function<Trace(const StageFilter&)>& run, const DebertaConfig& config,
                    const ModelInput& input, const VisitHead<Scalar>& visit);

template <class Scalar>
struct FastPath;  // core/models/fast_encoder.h

template <class Scalar>
class Deberta {
public:
    /// Checks that every tensor the configuration calls for is there and has its shape, reading no values.
    /// Throws Error(unreadable) that names the first missing or misshapen tensor.
    /// `compute` does the arithmetic of every pass and must outlive this.  ForwardPath::fast: see takes_fast_path.
    Deberta(DebertaConfig config, std::shared_ptr<const WeightSource> weights,
            const Operations<Scalar>& compute = cpu_operations<Scalar>(), ForwardPath path = ForwardPath::reference);

    const DebertaConfig& config() const { return weights_->config(); }
    /// For code that runs a part of the model.
    const DebertaWeights<Scalar>& weights() const { return *weights_; }
    /// True if there is a masked-word head (cls.predictions.* or lm_predictions.lm_head.*).
    bool has_head() const { return !weights_->head_dense().empty(); }
    /// The classes that fine-tuning gave a text or its tokens; nothing in a checkpoint without them.
    const std::optional<ClassifierHead<Scalar>>& classifier() const { return classifier_; }
    /// True if the enhanced mask decoder can run: an absolute table, position_biased_input false, two layers or more, E
    /// = D.
    bool has_decoder() const;

    /// The rows of the relative table for T x T pairs under these options.  Throws Error(usage) without relative
    /// attention.
    RelativeBuckets relative_buckets(Index length, const DebertaOptions& options) const;
    /// I of the decoder: the first rows of the absolute table [length,E].  Throws Error(unsupported) if it has fewer.
    Matrix<Scalar> absolute_rows(Index length) const { return weights_->absolute_rows(length); }

    /// Every stage that `forward` can write for this input, in model order.
    std::vector<std::string> stage_names(const ModelInput& input, const DebertaOptions& options) const;

    /// Throws what `forward` would throw of this input, and computes nothing.
    void check(const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted = {}) const;

    /// Runs the model until every wanted stage is there and returns them in model order.  Weights are read on first use
    /// and kept; position projections (k_r, q_r) are computed once per layer.
    /// Throws Error(usage) for a token id >= V, a mask of the wrong shape or a pattern that matches no stage, and
    /// Error(unsupported) for more tokens than the absolute table has rows where one is asked for.
    /// `stop` is asked before every layer and ends the pass by throwing Cancelled.
    Trace forward(const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted = {},
                  const CancelToken& stop = {}) const;

    /// `forward` of several texts, each an input of its own -> a trace for each.  Where all of them take the fast path
    /// they pass the layers together, nothing padded, with the same numbers as one by one.  Throws like forward.
    std::vector<Trace> forward_texts(const std::vector<ModelInput>& texts, const DebertaOptions& options,
                                     const StageFilter& wanted = {}, const CancelToken& stop = {}) const;

    /// True if `forward` runs whole layers by the fast path: this was opened with ForwardPath::fast and computes on the
    /// processor, the model has a fast path (core/models/fast_encoder.h), and no wanted stage lies inside a layer, so
    /// that every stage inside is the reference's, and so is what it was made from.
    bool takes_fast_path(const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted) const;

    /// Calls visit(head) for every head of every encoder layer and sample: its raw terms and probabilities, for a
    /// picture of all of them.  Layer by layer, the heads of a layer in any order, maybe on several threads at once.
    /// With the fast path only what a layer hands on is computed by it.  Throws like forward, Cancelled included.
    void visit_heads(const ModelInput& input, const DebertaOptions& options, const VisitHead<Scalar>& visit,
                     const CancelToken& stop = {}) const;

    /// One sentence per weight tensor read so far that holds NaN or infinity.
    std::vector<std::string> warnings() const { return weights_->warnings(); }

private:
    std::unique_ptr<DebertaWeights<Scalar>> weights_;
    std::optional<ClassifierHead<Scalar>> classifier_;
    std::shared_ptr<FastPath<Scalar>> fast_;  // none: every pass is the reference's
};

/// What stays the same from the first embedding to the last logit of one pass.
template <class Scalar>
struct ForwardContext {
    const DebertaWeights<Scalar>& weights;
    const ModelInput& input;
    const DebertaOptions& options;
    Trace& trace;                            // where the stages go; once it is complete, the steps below stop
    std::vector<Mask> masks;                 // [T,T] per sample, as pair_masks makes them
    std::optional<RelativeBuckets> buckets;  // delta(i,j) of T x T pairs; none without relative attention
    FastPath<Scalar>* fast = nullptr;        // runs whole layers where no stage inside them is wanted

    const DebertaConfig& config() const { return weights.config(); }
    /// Does the arithmetic.
    const Operations<Scalar>& compute() const { return weights.operations(); }
};

/// delta(i,j) of a model for T x T pairs: clamped offsets (version 1), or logarithmic buckets.
RelativeBuckets deberta_buckets(const DebertaConfig& config, Index length, OffsetClamp clamp);

/// n of the scale sqrt(n d): 1 + the number of position terms, or what an implementation counts in its place.
/// Throws Error(unsupported) where the implementation would add another term than the configuration: microsoft/DeBERTa
/// takes c2p where pos_att_type is missing (disentangled_attention.py), transformers no position term.
int deberta_divisor_terms(const DebertaConfig& config, const DebertaOptions& options);

/// Stages about positions, which need no text: delta(i,j) and the relative table P.
template <class Scalar>
void deberta_positions(const ForwardContext<Scalar>& pass);

/// Word, type and position rows, projection, norm, mask -> [B,T,D].
/// Source: microsoft/DeBERTa bert.py BertEmbeddings.
template <class Scalar>
Tensor<Scalar> deberta_embeddings(const ForwardContext<Scalar>& pass);

/// One whole post-norm layer: attention, residual, norm, feed-forward, residual, norm.  Keys and values come from
/// kv [B,T,D], queries and the residual from query [B,T,D]; they differ in the decoder alone.
/// -> the output [B,T,D], which the caller names; empty where the trace was complete before.
/// `prefix` names the stages: "layer.3" or "emd.0".  Source: microsoft/DeBERTa bert.py BertLayer.
template <class Scalar>
Tensor<Scalar> deberta_layer(const ForwardContext<Scalar>& pass, const std::string& prefix, Index layer,
                             const Tensor<Scalar>& kv, const Tensor<Scalar>& query);

/// Disentangled attention of one layer, up to the joined heads -> context [B,T,D]; arguments as above.
/// Source: He et al. 2021, eq. 4; microsoft/DeBERTa disentangled_attention.py.
template <class Scalar>
Tensor<Scalar> deberta_attention(const ForwardContext<Scalar>& pass, const std::string& prefix, Index layer,
                                 const Tensor<Scalar>& kv, const Tensor<Scalar>& query);

/// Its scores: the terms of eq. 4 for every pair of tokens, their sum divided by sqrt(n d).  q, k [B,H,T,d] ->
/// [B,H,T,T], before the mask.
template <class Scalar>
Tensor<Scalar> deberta_scores(const ForwardContext<Scalar>& pass, const std::string& prefix, Index layer,
                              const Tensor<Scalar>& q, const Tensor<Scalar>& k);

/// Merges the convolution of the encoder's input into the output of layer 0 -> [B,T,D].
/// Source: microsoft/DeBERTa bert.py ConvLayer.
template <class Scalar>
Tensor<Scalar> deberta_convolution(const ForwardContext<Scalar>& pass, const Tensor<Scalar>& embeddings,
                                   const Tensor<Scalar>& layer_output);

/// The enhanced mask decoder over h [B,T,D], the input of the last layer -> [B,T,D]; empty as above.
/// Source: He et al. 2021, section 3.2; microsoft/DeBERTa masked_language_model.py EnhancedMaskDecoder, and
/// qcqced123/model_study for MaskDecoder::pre_norm.  In deberta_decoder.cpp.
template <class Scalar>
Tensor<Scalar> deberta_decoder(const ForwardContext<Scalar>& pass, const Tensor<Scalar>& h);

/// Passes of the last layer in the decoder: the literal 2 of the official code.
inline constexpr int kDecoderPasses = 2;

/// mlm.*: the masked-word head over x [B,T,D].  Source: microsoft/DeBERTa bert.py BertLMPredictionHead.  In
/// deberta_decoder.cpp.
template <class Scalar>
void deberta_head(const ForwardContext<Scalar>& pass, const Tensor<Scalar>& x);

extern template class Deberta<float>;
extern template class Deberta<double>;

}  // namespace locus

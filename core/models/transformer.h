#pragma once
// The original Transformer for inference: encoder, decoder, one word table for source, target and output.
// No program opens one: it is the model that all others here change.  Held to PyTorch by tests/golden.
// Vaswani et al. 2017.  Post-norm, relu, sinusoids added to sqrt(D) times the word.  Dropout is off.
#include <vector>

#include "core/models/model_input.h"
#include "core/models/transformer_sublayers.h"
#include "core/trace.h"

namespace locus {

/// Defaults are the base model of the paper.
struct TransformerConfig {
    Index words = 37000;           // V, shared by both languages
    Index width = 512;             // D, even: sinusoids come in pairs
    Index heads = 8;               // H, divides D
    Index inner = 2048;            // F
    Index layers = 6;              // of the encoder, and of the decoder
    double layer_norm_eps = 1e-6;  // tensor2tensor; PyTorch's layers have 1e-5
    Index max_position = 1 << 16;  // sinusoids have no end of their own; this one keeps a slip from filling memory
};

template <class Scalar>
struct EncoderLayerWeights {
    MultiHeadWeights<Scalar> self;
    FeedForwardWeights<Scalar> feed_forward;
};

template <class Scalar>
struct DecoderLayerWeights {
    MultiHeadWeights<Scalar> self;   // over the target, causal
    MultiHeadWeights<Scalar> cross;  // queries from the target, keys and values from the encoder's last output
    FeedForwardWeights<Scalar> feed_forward;
};

template <class Scalar>
struct TransformerWeights {
    Matrix<Scalar> word_table;  // [V,D]: looked up for source and target, and turned round for the logits
    std::vector<EncoderLayerWeights<Scalar>> encoder;
    std::vector<DecoderLayerWeights<Scalar>> decoder;
};

/// Encoder and decoder have the same stage names, so each fills its own trace.
template <class Scalar>
struct TransformerPass {
    Trace encoder;  // embeddings.word, positions.r, embeddings.output, layer.{l}.q ... .output of the source
    Trace decoder;  // the same of the target: .q to .attention are the causal self-attention's; and lm.logits
    std::vector<MultiHeadResult<Scalar>> cross;  // per decoder layer: what the contract of stage names has no name for
    Tensor<Scalar> logits;                       // [B,T,V]
};

template <class Scalar>
class Transformer {
public:
    /// Throws Error(usage) naming the first size that is impossible or the first weight that does not fit the sizes.
    Transformer(const TransformerConfig& config, TransformerWeights<Scalar> weights);

    const TransformerConfig& config() const { return config_; }
    /// Every stage a trace can leave; lm.logits is the decoder's alone.
    std::vector<std::string> stage_names() const;

    /// source.tokens [B,Ts] with source.mask [B,Ts] or empty; target.tokens [B,Tt] with target.mask alike.  Padding is
    /// hidden as a key; its own rows are ordinary numbers that nobody reads.
    /// Throws Error(usage) for ids >= V, a mask that is not like its tokens, batches that differ, or a pattern that
    /// matches no stage.
    TransformerPass<Scalar> forward(const ModelInput& source, const ModelInput& target,
                                    const StageFilter& wanted = {}) const;

    /// The encoder alone: the output of its last layer [B,Ts,D].
    Tensor<Scalar> encode(const ModelInput& source, Trace& trace) const;
    /// The decoder alone, given encode(source): logits [B,Tt,V].  Row t has seen the targets 0 ... t.
    Tensor<Scalar> decode(const Tensor<Scalar>& encoded, const ModelInput& source, const ModelInput& target,
                          Trace& trace, std::vector<MultiHeadResult<Scalar>>& cross) const;

    /// Per sample the likeliest next word, again and again, from `start` until `end` or `limit` words; `start` is not
    /// in the answer, `end` is.  Of equal logits the smallest id wins.  Every word runs the whole decoder again: the
    /// plain form, without a cache.  Throws Error(usage) for ids outside the words, limit < 1, or logits that are not
    /// finite.
    std::vector<std::vector<std::int64_t>> greedy(const ModelInput& source, std::int64_t start, std::int64_t end,
                                                  Index limit) const;

private:
    Tensor<Scalar> embed(const ModelInput& input, Trace& trace) const;

    TransformerConfig config_;
    TransformerWeights<Scalar> weights_;
};

extern template class Transformer<float>;
extern template class Transformer<double>;

}  // namespace locus

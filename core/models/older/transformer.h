#pragma once
// The original Transformer for inference: encoder, decoder, one word table for source, target and output.
// Vaswani et al. 2017, sections 3.1 to 3.5.  Post-norm, relu, sinusoids added to sqrt(D) times the word.  Dropout is
// off.
//
// Where it is used: no released checkpoint is read into it and no program or lesson runs it; its laws are in
// tests/laws/test_transformer_laws.cpp, and tests/golden/test_oracle_older.cpp compares every stage with PyTorch.
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/models/layers.h"
#include "core/models/model_input.h"
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
    Index max_position = 1 << 16;  // sinusoids have no end; this one keeps a mistyped length from filling the memory
};

// --- the two kinds of sublayer; each ends in norm(x + sublayer(x)) ---

/// Attention of queries over keys and values, from the same text or from another.  The paper has no biases; dense
/// layers without a bias are those whose bias is empty.
template <class Scalar>
struct MultiHeadWeights {
    Dense<Scalar> query, key, value, out;  // [D,D] each
    Norm<Scalar> norm;                     // [D]
};

template <class Scalar>
struct FeedForwardWeights {
    Dense<Scalar> up, down;  // [F,D], [D,F]
    Norm<Scalar> norm;       // [D]
};

template <class Scalar>
struct MultiHeadResult {
    Tensor<Scalar> q, k, v;        // [B,H,Tq,d], [B,H,Tk,d], [B,H,Tk,d]
    Tensor<Scalar> scores, probs;  // [B,H,Tq,Tk]: scaled and before the mask; masked cells exactly 0
    Tensor<Scalar> context;        // [B,Tq,D], heads joined
    Tensor<Scalar> output;         // [B,Tq,D]: norm(dense(context) + x)
};

template <class Scalar>
struct FeedForwardResult {
    Tensor<Scalar> act;     // [B,T,F]: relu(dense_1(x))
    Tensor<Scalar> ffn;     // [B,T,D]: dense_2(act)
    Tensor<Scalar> output;  // [B,T,D]: norm(ffn + x)
};

/// Queries from x [B,Tq,D], keys and values from memory [B,Tk,D]; one mask [Tq,Tk] per sample, empty ones show all.
template <class Scalar>
MultiHeadResult<Scalar> multi_head_attention(const Tensor<Scalar>& x, const Tensor<Scalar>& memory,
                                             const MultiHeadWeights<Scalar>& weights, Index heads,
                                             const std::vector<Mask>& masks, double eps);

/// x [B,T,D].  relu between the two dense layers.
template <class Scalar>
FeedForwardResult<Scalar> feed_forward(const Tensor<Scalar>& x, const FeedForwardWeights<Scalar>& weights, double eps);

// --- the model ---

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
    Matrix<Scalar> word_table;  // [V,D]: looked up for source and target, and transposed for the logits
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
    /// Every stage that a trace can hold; lm.logits is the decoder's alone.
    std::vector<std::string> stage_names() const;

    /// source.tokens [B,Ts] with source.mask [B,Ts] or empty; target.tokens [B,Tt] with target.mask alike.  Padding is
    /// hidden as a key; its own rows are ordinary numbers that no other token reads.
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

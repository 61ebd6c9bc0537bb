#pragma once
// The small steps of Transformer-XL's and XLNet's formulas, right and wrong.
// Letters: M memory, T queries of the segment, P queries of a stream, K = M + T keys, R rows of positions.
#include <functional>

#include "core/attention/two_stream.h"
#include "core/conformance/formulas/formulas.h"
#include "core/models/relative_heads.h"
#include "core/positions/position_rows.h"

namespace locus::conformance {

/// Sinusoids of these distances, width D -> [R,D].
Tensor<double> sinusoids_of(const Replay& at, const std::vector<double>& distances, SinusoidLayout layout);

/// q + bias of each head, [B,H,P,d] and [H,d].
Tensor<double> biased(const Tensor<double>& q, const Tensor<double>& bias);

/// The same rows read by another column: y[b,h,p,j] = raw[b,h,p, column(token, j)]; 0 where there is no such column and
/// in rows of no token.  column sees the token of the row and the key.
Tensor<double> shifted_by(const Replay& at, const Tensor<double>& raw,
                          const std::function<Index(Index token, Index key)>& column);
/// content (ac + ef) + position bd: scores, where both factors are 1 / sqrt(d).  ef only in an XLNet with segments.
Tensor<double> weighted_relative_terms(const Replay& at, double content, double position);
/// What the shift of bd_raw itself gives, hidden cells too: right of the diagonal values of other rows.
Tensor<double> bd_of_all_cells(const Replay& at);
/// Hidden cells set to 0.
Tensor<double> without_hidden(const Replay& at, Tensor<double> values);
/// Rows of query_tokens -1 set to 0, in every head.
Tensor<double> without_unused(const Replay& at, Tensor<double> values);

/// Distance of row 0 of positions.r: K - 1 in Transformer-XL, K in XLNet.
Index first_distance(const Replay& at);
/// M + T.
Index keys_of(const Replay& at);
/// T.
Index queries_of(const Replay& at);

/// [memory_before; x], what keys and values are made of.
Tensor<double> memory_and_segment_of(const Replay& at);
/// Which rows of [memory_before; x] a segment keeps.
enum class Kept {
    newest,
    oldest,
    old_behind,    // the last of [x; memory] instead of [memory; x]
    segment_alone  // what was remembered before is dropped
};
/// What a segment hands on of [memory_before; rows].
Tensor<double> handed_on(const Replay& at, const Tensor<double>& rows, Kept kept = Kept::newest);

/// XLNet's segment term: row `same` of seg_embed for pairs of one segment, row `different` for the others.
Tensor<double> segment_term_by(const Replay& at, std::int64_t segment_of_memory, Index same, Index different);
/// What hides a key from the queries of sample b of an XLNet.
TwoStreamHiding hiding_of(const Replay& at, Index b);
/// Rows of the stream's queries out of masks [T,K], one per sample; unused targets see nothing -> [B,P,K].
Tensor<double> visible_to_stream(const Replay& at, const std::function<Mask(Index b)>& mask);

/// memory_before, memory, ac, bd_raw, bd, scores, probs, context: what both families share.
std::vector<Formula> relative_formulas();

/// What a norm that stands in front makes of its rows, with pre_lnorm; `own` is the one that belongs there.
using NormInFront =
    std::function<Matrix<double>(const Replay& at, const Matrix<double>& rows, const Norm<double>& own)>;
/// q, k and v of rows, the memory's too, that went through this norm.  Throw NotEnough where norms stand behind.
std::vector<Formula> attention_behind(const NormInFront& norm);
/// ffn_act of rows that went through this norm.  Throws NotEnough where norms stand behind.
std::vector<Formula> feed_forward_behind(const NormInFront& norm);

/// What the heads of Transformer-XL and XLNet make logits of.
struct LanguageHead {
    const Tensor<double>& top;  // [B,P,D], output of the last layer
    Matrix<double> rows;        // [B P,E], the same as narrow as the table
    std::string table, other;   // names of the output matrix [V,E], and of what a port may take in its place
    Index words = 0;            // V
    RowVector<double> bias;     // [V]
};
/// Throws NotEnough for an adaptive softmax.
LanguageHead transformer_xl_head(const Replay& at);
LanguageHead xlnet_head(const Replay& at);
/// That of the family at hand.
LanguageHead language_head(const Replay& at);
/// True for a Transformer-XL with an adaptive softmax.
bool is_adaptive(const Replay& at);
/// What it makes of the last layer's output: log-probabilities of the clusters [B,T,C] and of all words [B,T,V].
struct AdaptiveHead {
    Tensor<double> clusters, logits;
};
/// As `config`, which may differ from the checkpoint's own, and `order` say (TransformerXlWords::choice).
AdaptiveHead adaptive_head(const Replay& at, const TransformerXlConfig& config, Dialect order);
/// That of the checkpoint, but no word and no cluster has a bias.
AdaptiveHead adaptive_head_without_biases(const Replay& at);
/// The order that the reference's own clusters or logits follow; without them that of the evidence's dialect.
Dialect order_of_clusters(const Replay& at);
/// rows table^T + bias -> [B,P,V], the stage lm.logits as it is; bias may be empty.
Tensor<double> language_logits(const Replay& at, const LanguageHead& head, const std::string& table,
                               const RowVector<double>& bias);
Tensor<double> right_language_logits(const Replay& at);

/// -log softmax(logits)[label], one per label -> the shape of the labels.
Tensor<double> losses_of(const Replay& at, const Tensor<double>& logits);

/// One tensor for all samples: [P,K] of 0 and 1 -> [B,P,K].
Tensor<double> as_visible(const std::vector<Mask>& masks);

}  // namespace locus::conformance

#pragma once
// Right formulas by family, and those that several families share.
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/conformance/diagnosis/replay.h"
#include "core/conformance/formulas/arithmetic.h"
#include "core/models/block.h"

namespace locus::conformance {

std::vector<Formula> deberta_formulas();
/// The stages of a DeBERTa around its layers: embeddings, convolution, masked-word head.
std::vector<Formula> deberta_model_formulas();
/// Its replaced-token detection, and the stages of SiFT.
std::vector<Formula> rtd_formulas();
std::vector<Formula> sift_formulas();
std::vector<Formula> roformer_formulas();
std::vector<Formula> transformer_xl_formulas();
std::vector<Formula> xlnet_formulas();

/// Right formulas of a case that is a part of no model, by the "kind" that its configuration names: linear attention,
/// or a rotation after a cached prefix; nullptr for every other case.
const std::vector<Formula>* formulas_of_kind(const nlohmann::ordered_json& config);

/// Where a family keeps what stands after attention; each reads one tensor, so that a stage reads no more than it
/// needs.
struct BlockWeights {
    Dense<double> (*out)(const Replay&);
    Norm<double> (*attention_norm)(const Replay&);
    Dense<double> (*up)(const Replay&);
    Dense<double> (*down)(const Replay&);
    Norm<double> (*ffn_norm)(const Replay&);
    Activation (*activation)(const Replay&);
    double (*eps)(const Replay&);
    bool (*norm_first)(const Replay&);  // Transformer-XL with pre_lnorm
};
/// attention, ffn_act, ffn and output.
std::vector<Formula> block_formulas(const BlockWeights& weights);

/// Rows of a table, one per token of the input -> [B,T,E].
Tensor<double> rows_of_tokens(const Replay& at, const std::string& table);
/// The matrix of a checkpoint that makes logits.
struct WordTable {
    std::string name;
    Index words = 0;         // V
    RowVector<double> bias;  // [V], or empty
};
/// x table^T + bias for rows x [R,E] in the shape of `like` but for its last axis -> [..,V].  `stem`: the stage that is
/// made of nothing but this, whose columns are shown block by block (Replay::show); "" for none.
Tensor<double> logits_of(const Replay& at, const std::string& stem, const Tensor<double>& like, const Matrix<double>& x,
                         const WordTable& table);

/// probs from scores and the mask of the input; hidden keys exactly 0, rows without any key as the reference has them.
Tensor<double> masked_probabilities(const Replay& at, const std::string& scores = "scores");
/// probs v, heads joined -> [B,T,H*d]; the second takes both from the stages, and "keep" where it is reported.
Tensor<double> joined_heads(const Tensor<double>& probs, const Tensor<double>& v);
Tensor<double> joined_context(const Replay& at, const std::string& probs = "probs");

/// keep, grad.probs, grad.scores and what follows from them, family by family.
std::vector<Formula> deberta_gradient_formulas();
std::vector<Formula> roformer_gradient_formulas();
std::vector<Formula> transformer_xl_gradient_formulas();

/// RoFormer: True if values are rotated too.
bool rotates_values(const Replay& at);

}  // namespace locus::conformance

#pragma once
// What a forward pass is given, and the masks that follow from it.
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

/// Names are those of input files; a family ignores what it does not know.
struct ModelInput {
    IndexTensor tokens;       // [B,T]
    IndexTensor mask;         // [B,T] or [B,T,T], 1 = visible; empty: everything is visible
    IndexTensor token_types;  // [B,T]; empty: zeros (XLNet: no segment term)
    // [B,T], empty: no loss.  DeBERTa, RoFormer: 0 = not a target.  Transformer-XL, XLNet: every label counts, 0 too;
    // XLNet with a target_mapping: [B,P], one for each of its rows; that of a row of zeros is not read.
    IndexTensor labels;
    IndexTensor mask_positions;  // [N,2] (sample, token): rows for the *_at_positions stages; empty: no such stages

    // XLNet, in the meaning of its code.
    IndexTensor perm_mask;       // [B,T,T], 1 = hidden from the query
    IndexTensor target_mapping;  // [B,P,T] of 0 and 1: row p predicts that token; empty: no query stream
    IndexTensor input_mask;      // [B,T], 1 = padding

    /// Transformer-XL, XLNet: the memory that the segment before wrote, [B,M,D] per layer; empty: none.
    std::vector<Tensor<double>> memories;

    Index batch() const { return tokens.extent(0); }
    Index length() const { return tokens.extent(1); }
};

/// Throws Error(usage) naming the field unless tokens is [B,T] with ids below vocab_size, mask fits and holds 0 and 1,
/// token_types and labels are like tokens, and mask_positions is [N,2] of places among them; type ids are checked
/// against type_vocab_size where that is above 0.
void check_input(const ModelInput& input, Index vocab_size, Index type_vocab_size);

/// Throws Error(usage) naming `what` unless values is empty or has this shape and holds only 0 and 1.
void check_flags(const IndexTensor& values, const std::string& what, const Shape& expected);

/// DeBERTa's masks, [T,T] per sample, all empty where everything is visible.  A mask of tokens becomes an outer
/// product: hidden tokens are neither queries nor keys (microsoft/DeBERTa bert.py get_attention_mask).
std::vector<Mask> pair_masks(const ModelInput& input);

/// Masks of RoFormer and of the Transformer, [queries,T] per sample, all empty where everything is visible: hidden
/// tokens are no keys, but their own rows are ordinary.  causal: no key after the query (Vaswani et al. 2017, section
/// 3.2.3).  A mask [B,T,T] says it pair by pair; then queries = T.
std::vector<Mask> key_masks(const ModelInput& keys, Index queries, bool causal = false);

/// Visible tokens [B*T] as 0 or 1; empty where everything is visible.  In a mask [B,T,T] a token is visible if any
/// query sees it.
template <class Scalar>
RowVector<Scalar> visible_tokens(const ModelInput& input);

}  // namespace locus

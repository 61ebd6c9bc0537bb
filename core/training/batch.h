#pragma once
// What one step of training is given.
#include <cstdint>
#include <vector>

#include "core/attention/softmax.h"
#include "core/models/model_input.h"
#include "core/tensor.h"

namespace locus {

/// Sentences of uneven length, one after the other: there is no padding, so none can leak.
struct PackedBatch {
    std::vector<std::int64_t> tokens;   // [N], all sentences joined
    std::vector<Index> starts;          // [B + 1], first row of each sentence, and N
    std::vector<std::int64_t> labels;   // [N], original id of a target, 0 elsewhere; empty: no targets
    std::vector<Mask> masks;            // [T,T] per sentence, as pair_masks() makes them; empty: everything is visible
    std::vector<std::uint8_t> visible;  // [N], 1 = visible; empty: all
    std::vector<std::int64_t> types;    // [N], token types; empty: zeros

    Index sentences() const { return starts.empty() ? 0 : static_cast<Index>(starts.size()) - 1; }
    Index rows() const { return static_cast<Index>(tokens.size()); }
    Index length(Index b) const {
        return starts.at(static_cast<std::size_t>(b) + 1) - starts[static_cast<std::size_t>(b)];
    }
};

/// Throws Error(usage) naming the field unless starts climbs from 0 to N, tokens and labels are ids below vocab_size,
/// and labels, visible, types and masks are empty or fit the tokens.
void check_batch(const PackedBatch& batch, Index vocab_size);

/// The padded sentences of an input as they are, [B,T] -> B sentences of T rows: hidden tokens stay rows, with masks
/// that hide them.  Takes tokens, mask, token_types and labels; the caller has checked them (check_input).
PackedBatch packed_batch(const ModelInput& input);

}  // namespace locus

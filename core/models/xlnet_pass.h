#pragma once
// What stays the same from the first layer of one XLNet segment to the last.  Not for other rooms of the house.
#include <string>
#include <vector>

#include "core/attention/two_stream.h"
#include "core/models/model_input.h"
#include "core/models/xlnet.h"

namespace locus {

template <class Scalar>
struct Xlnet<Scalar>::Pass {
    XlnetOptions options;
    Index memory = 0;                              // M
    Matrix<Scalar> r, r_backward;                  // [R,D]; the second for reversed text, else empty
    std::vector<Mask> content, query;              // per sample: [T,K] and [P,K]
    std::vector<std::vector<Index>> tokens;        // per sample: 0 ... T - 1
    std::vector<std::vector<Index>> targets;       // per sample: token of each target, -1: not used
    std::vector<std::vector<std::int64_t>> types;  // per sample, [T]; empty: no segment term

    Index samples() const { return static_cast<Index>(content.size()); }
    /// With bi_data the second half of the batch is read backwards.
    bool is_reversed(Index b) const { return r_backward.size() > 0 && b >= samples() / 2; }
    bool has_targets() const { return !targets.empty(); }
};

/// "layer.3."
inline std::string xlnet_layer_prefix(Index layer) { return "layer." + std::to_string(layer) + "."; }

/// Throws Error(usage) where masks, targets, types or labels do not fit the tokens and each other.
void check_xlnet_input(const ModelInput& input, const XlnetConfig& config);

/// [T,T] of one sample, 1 = hidden; empty without perm_mask.
Mask permutation_of(const ModelInput& input, Index b);
/// 1 = padding, from input_mask or from mask (which says the opposite); empty where nothing is padded.
std::vector<bool> padding_of(const ModelInput& input, Index b);

}  // namespace locus

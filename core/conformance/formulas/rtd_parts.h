#pragma once
// Replaced-token detection: the discriminator's head, which tokens count, and what they are labelled.
#include <functional>

#include "core/conformance/formulas/formulas.h"

namespace locus::conformance {

/// Decides over one token: its id, the original id where it was sampled (0 elsewhere), and whether it is visible.
struct DetectedToken {
    std::int64_t token = 0, original = 0;
    bool visible = true;
};
using TokenRule = std::function<bool(const DetectedToken&)>;

/// 1 where `replaced` says so, 0 elsewhere, of the tokens that count, sample by sample -> [N].
/// Throws NotEnough without labels.
Tensor<double> replaced_labels(const Replay& at, const TokenRule& counts, const TokenRule& replaced);
/// Binary cross entropy with logits [B,T] of the tokens that count; labels [N] -> [N].
Tensor<double> replaced_losses(const Replay& at, const TokenRule& counts);

/// The right rules: visible tokens count; sampled and not the original is replaced.
bool is_visible(const DetectedToken& token);
bool is_replaced(const DetectedToken& token);

}  // namespace locus::conformance

#pragma once
// A bias that nobody knows but the candidate: the one vector per head that its numbers differ by from the right ones.
#include "core/conformance/diagnosis/evidence.h"

namespace locus::conformance {

/// Bias b [H,d] of the keys that explains k, c2c, p2c or scores best, whichever the candidate reports first.
/// Throws NotEnough where none is reported, or fewer than three numbers per unknown.
Matrix<double> fitted_key_bias(const Replay& at);
/// The same of the position keys, from k_r, c2p or scores.
Matrix<double> fitted_position_key_bias(const Replay& at);

}  // namespace locus::conformance

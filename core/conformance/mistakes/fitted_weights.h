#pragma once
// A bias that only the candidate knows: the one vector per head that its numbers differ by from the right ones.
#include "core/conformance/diagnosis/replay.h"

namespace locus::conformance {

/// Bias b [H,d] of the keys that explains k, c2c, p2c or scores best, whichever the candidate reports first.
/// Throws NotEnough where none is reported, or fewer than three numbers per unknown.
Matrix<double> fitted_key_bias(const Replay& at);
/// The same of the position keys, from k_r, c2p or scores.
Matrix<double> fitted_position_key_bias(const Replay& at);

// A projection that only the candidate knows: position keys or queries that are linear in the relative table, by
// no matrix of the model.

/// table W + b [H,2k,d] with the W and b that explain the candidate's k_r or q_r best.
/// Throws NotEnough where it reports none, where the table has no 24 numbers more than W and b have unknowns, and where
/// a column of it is one of the model's own projections, scaled or with another bias: then it was loaded, and something
/// else is wrong.
Tensor<double> fitted_projection(const Replay& at, const char* stem);

/// The candidate's mlm.logits as far as they are linear in its own mlm.transform: x W + b with the W and b that explain
/// them best.  Throws NotEnough where it does not report both, where there are no three tokens more than W and b have
/// unknowns per word, and where W is anything like the word table: then the table was read, and something else is
/// wrong.
Tensor<double> fitted_logits(const Replay& at);

}  // namespace locus::conformance

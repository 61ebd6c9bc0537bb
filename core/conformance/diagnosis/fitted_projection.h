#pragma once
// A projection that nobody knows but the candidate: position keys or queries that are linear in the relative table, by
// no matrix of the model.
#include "core/conformance/diagnosis/evidence.h"

namespace locus::conformance {

/// table W + b [H,2k,d] with the W and b that explain the candidate's k_r or q_r best.
/// Throws NotEnough where it reports none, where the table has no 24 numbers more than W and b have unknowns, and where
/// a column of it is one of the model's own projections, scaled or with another bias: then it was loaded, and something
/// else is wrong.
Tensor<double> fitted_projection(const Replay& at, const char* stem);

}  // namespace locus::conformance

#pragma once
// Why is this weight 0.21?  One cell of linear attention with rotary positions: the rotation stands in the numerator
// alone, and both sums run over the keys.  Su et al. 2021, eq. 19; spec 6.6.
#include <vector>

#include "core/attention/linear.h"

namespace locus {

/// What one key adds.
template <class Scalar>
struct LinearKey {
    Scalar numerator = 0;          // (R_i phi(q_i)) . (R_j phi(k_j)); may be negative in the paper's form
    Scalar positive = 0;           // phi(q_i) . phi(k_j) (seed: the numerator itself)
    Scalar running_numerator = 0;  // of the keys so far
    Scalar running_denominator = 0;
    Scalar weight = 0;  // numerator / denominator
};

template <class Scalar>
struct LinearExplanation {
    Index i = 0, j = 0;
    std::vector<Scalar> phi_q, phi_k;  // of query i and key j, not turned (seed: turned before phi) [d]
    std::vector<Scalar> left, right;   // what the numerator multiplies [d]
    std::vector<Scalar> products, running;
    std::vector<LinearKey<Scalar>> keys;  // that the query sees, in order; hidden ones add exactly 0
    Scalar denominator = 0;               // the sum of `positive`, at least 1e-6
    Scalar weight = 0;                    // of key j; 0 where a causal query does not see it
};

/// Replays cell (i, j) of linear_attention_weights with exactly its bits (asserted by tests); arguments are its own.
/// Throws Error(usage) if i, j or the shapes do not fit.
template <class Scalar>
LinearExplanation<Scalar> explain_linear_cell(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                              const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                              bool causal, const std::vector<bool>& visible, Index i, Index j);

}  // namespace locus

#pragma once
// How a rotary score falls with distance: the bound that the paper plots, and what two real vectors do.
// Su et al. 2021, section 3.4.3.
#include <vector>

#include "core/positions/rotary.h"
#include "core/tensor.h"

namespace locus {

/// B(r) = 1/(d/2) sum over j = 1 ... d/2 of |S_j|, S_j = sum over t < j of e^{i r theta_t}: the paper's "relative upper
/// bound", independent of q and k.  theta [d/2], r any distance in tokens.  It is not monotone (spec 6.4).
double decay_bound(const std::vector<double>& theta, double distance);

/// The score of q at position r and k at position 0, raw: (R_r q) . k = q^T R_{-r} k, for r = 0 ... count - 1.
/// q, k [d] each, theta [d/2] -> [count].  Throws Error(usage) if the widths do not fit.
std::vector<double> score_curve(const RowVector<double>& q, const RowVector<double>& k,
                                const std::vector<double>& theta, RotaryLayout layout, Index count);

/// What |score_curve(r)| cannot exceed: max_t |h_{t+1} - h_t| times sum_j |S_j(r)|, h_t = q_t conj(k_t) as complex
/// numbers, h_{d/2} = 0 (Abel summation).  Same arguments -> [count].
std::vector<double> score_bound(const RowVector<double>& q, const RowVector<double>& k,
                                const std::vector<double>& theta, RotaryLayout layout, Index count);

}  // namespace locus

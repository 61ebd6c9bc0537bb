#pragma once
// The small steps of linear attention with rotary positions, right and wrong (spec 6.6).  Features: [B,H,T,d].
#include "core/conformance/diagnosis/arithmetic.h"

namespace locus::conformance {

inline constexpr double kSmallestDenominator = 1e-6;

/// elu(x) + 1.
Tensor<double> features_of(const Tensor<double>& x);
/// Row m turned by m base^(-2t/d), neighbours in pairs.
Tensor<double> turned_by_position(const Tensor<double>& x);
/// Rows of hidden keys set to 0.  Throws NotEnough where nobody says which are hidden.
Tensor<double> without_padding(const Replay& at, Tensor<double> keys);
/// q_i . k_j, 0 for the future where the case is causal -> [B,H,T,T].
Tensor<double> seen_products(const Replay& at, const Tensor<double>& q, const Tensor<double>& k);
/// Sum over keys -> [B,H,T].
Tensor<double> row_sums(const Tensor<double>& products);
/// No smaller than 1e-6; NaN stays NaN.
Tensor<double> bounded(Tensor<double> denominators);
/// products [B,H,T,T] over denominators [B,H,T].
Tensor<double> divided(Tensor<double> products, const Tensor<double>& denominators);

}  // namespace locus::conformance

#pragma once
// Sinusoids of a position or of a distance: the fixed vectors of the Transformer, RoFormer, Transformer-XL and XLNet.
// Vaswani et al. 2017, section 3.5.
#include <vector>

#include "core/tensor.h"

namespace locus {

/// Where a row keeps sine and cosine of one frequency; the information is the same.
enum class SinusoidLayout {
    interleaved,   // sin, cos, sin, cos, ...: the paper, the official RoFormer
    concatenated,  // all sines, then all cosines: Transformer-XL, XLNet, Hugging Face RoFormer
};

/// w_t = base^(-2t / width), t = 0 ... width/2 - 1, in radians per position -> [width / 2].
/// Throws Error(usage) unless width is even and positive and base is a number above 0.
std::vector<double> inverse_frequencies(Index width, double base = 10000);

/// One row per position p: sin(p w_t) and cos(p w_t), computed in double and rounded once.
/// positions [N], any sign -> [N, width].  Throws as inverse_frequencies does.
template <class Scalar>
Matrix<Scalar> sinusoidal_rows(const std::vector<double>& positions, Index width, SinusoidLayout layout);

/// The rows of positions 0 ... count - 1 -> [count, width].
template <class Scalar>
Matrix<Scalar> sinusoidal_table(Index count, Index width, SinusoidLayout layout);

}  // namespace locus

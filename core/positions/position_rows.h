#pragma once
// One vector per position or per distance: learned rows, sinusoids, and the distances of Transformer-XL and XLNet.
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

// Learned absolute positions: one trained row per position, and nothing beyond the last.
// Devlin et al. 2019 (BERT), section 3; x = E_word[token] + E_pos[position] + E_type[type].

/// The rows of positions first ... first + count - 1: table [P,D] -> [count,D].
/// Throws Error(unsupported) for a position past the table, which no checkpoint can answer, and Error(usage) for a
/// negative one.
template <class Scalar>
Matrix<Scalar> learned_rows(const ConstView<Scalar>& table, Index count, Index first = 0);

/// One row per position, in this order and as often as asked: table [P,D], positions [N] -> [N,D].  Throws as above.
template <class Scalar>
Matrix<Scalar> learned_rows(const ConstView<Scalar>& table, const std::vector<std::int64_t>& positions);

// Sinusoids of a position or of a distance: the fixed vectors of the Transformer, RoFormer, Transformer-XL and XLNet.
// Vaswani et al. 2017, section 3.5.

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

/// The rows of positions 0 ... count - 1 -> [count, width].  Throws Error(usage) if count is negative or width odd.
template <class Scalar>
Matrix<Scalar> sinusoidal_table(Index count, Index width, SinusoidLayout layout);

// Which distances the rows of R stand for, in the order in which Transformer-XL and XLNet keep them.
// kimiyoung/transformer-xl mem_transformer.py; zihangdai/xlnet modeling.py relative_positional_encoding.

/// K - 1, K - 2, ..., 0 for K = memory + queries keys; distances above `clamp` become `clamp` (clamp <= 0: none).
/// The distance of query i of the segment to key j of memory and segment is memory + i - j.  -> [K].
std::vector<double> transformer_xl_distances(Index keys, Index clamp);

/// Whether a model looks at keys on both sides.
enum class Direction { bidirectional, unidirectional };

/// K, K - 1, ..., 1 - T (bidirectional, K + T rows) or K, ..., 0 (unidirectional, K + 1 rows), for T queries and K
/// keys; with clamp > 0 cut to -clamp ... clamp.  `reversed`: every sign changed, the text read backwards (bi_data).
std::vector<double> xlnet_distances(Index queries, Index keys, Direction direction, Index clamp, bool reversed);

/// The row of R, and so the column of bd_raw, that serves query i and key j where row 0 stands for `first` (K - 1 in
/// Transformer-XL, K in XLNet): first - (memory + i - j).
inline Index distance_column(Index first, Index memory, Index i, Index j) { return first - (memory + i - j); }

}  // namespace locus

#pragma once
// Rotary position embedding: the vector at position m is rotated by m theta_t in every plane t; and how the score of
// two rotated vectors falls with their distance.
// Su et al. 2021 (RoFormer), eq. 14-16 and 34, section 3.4.3; transformers modeling_roformer.py.
#include <vector>

#include "core/positions/position_rows.h"
#include "core/tensor.h"

namespace locus {

/// Which two channels make the plane t.  A model trained with one is nonsense under the other.
enum class RotaryLayout {
    interleaved,  // (2t, 2t + 1): the paper, RoFormer, GPT-J, Meta's own code and weights of Llama
    half_split,   // (t, t + d/2): GPT-NeoX, and Llama in transformers, whose weights were permuted when converted
};

/// The two channels of plane t.
struct PlaneChannels {
    Index a, b;
};
inline PlaneChannels plane_channels(Index t, Index planes, RotaryLayout layout) {
    return layout == RotaryLayout::interleaved ? PlaneChannels{2 * t, 2 * t + 1} : PlaneChannels{t, planes + t};
}

/// Sine and cosine of every angle, one per position and plane.
template <class Scalar>
struct RotaryTable {
    Matrix<Scalar> sin, cos;  // [T, d/2]

    Index length() const { return sin.rows(); }
    /// Channels that are rotated: 2 per plane.
    Index width() const { return 2 * sin.cols(); }
    /// Rows first ... first + count - 1, e.g. those of the tokens after a cached prefix.
    RotaryTable rows(Index first, Index count) const;
};

/// Angles (first + m) theta_t for m = 0 ... length - 1; both sides times `factor` (1, or YaRN's).
/// theta [d/2] in radians per position, first: the position of row 0, i.e. the length of a cached prefix; may be
/// negative -> [length, d/2] each.  Throws Error(usage) if theta is empty or length is negative.
template <class Scalar>
RotaryTable<Scalar> rotary_table(const std::vector<double>& theta, Index first, Index length, double factor = 1);

/// The same numbers cut out of sinusoid rows as checkpoints store them: [sin | cos] (Hugging Face) or sin, cos, sin,
/// cos (official RoFormer).  rows [T, d] -> [T, d/2] each.  Throws Error(usage) if d is odd.
template <class Scalar>
RotaryTable<Scalar> rotary_table_of(const ConstView<Scalar>& sinusoids, SinusoidLayout layout);

/// R_m x_m for every row m, element by element: y_a = x_a cos - x_b sin, y_b = x_b cos + x_a sin over each pair (a, b).
/// x [T,d], table of T rows; channels beyond the table's width pass unchanged (partial rotary: GPT-J, GPT-NeoX)
/// -> [T,d].  Throws Error(usage) if the rows differ or the table is wider than x.
template <class Scalar>
Matrix<Scalar> rotate(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout);

/// R_m^T y_m, the rotation undone; also the gradient of `rotate` with respect to x.  Shapes and errors as in `rotate`.
template <class Scalar>
Matrix<Scalar> rotate_back(const ConstView<Scalar>& y, const RotaryTable<Scalar>& table, RotaryLayout layout);

/// The same through R_m as a d x d matrix, d/2 blocks of 2 x 2 on its diagonal: the paper's eq. 15, T d^2 numbers for a
/// whole text.  -> [d,d].  Throws Error(usage) if the table has no row m.
template <class Scalar>
Matrix<Scalar> rotation_matrix(const RotaryTable<Scalar>& table, Index m, RotaryLayout layout);
template <class Scalar>
Matrix<Scalar> rotate_by_matrix(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout);

/// The same through complex numbers: (x_a + i x_b) e^{i m theta_t}.  Shapes as in `rotate`.
template <class Scalar>
Matrix<Scalar> rotate_by_complex(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout);

/// perm with half_split(x[perm], m) == interleaved(x, m)[perm]: 0, 2, 4, ..., 1, 3, 5, ... -> [d].
/// Permuting the rows of W_q and W_k by it, head by head, converts a model of one layout into one of the other.
std::vector<Index> half_split_order(Index width);

// Decay: the bound that the paper plots, and what two real vectors do.

/// B(r) = 1/(d/2) sum over j = 1 ... d/2 of |S_j|, S_j = sum over t < j of e^{i r theta_t}: the paper's "relative upper
/// bound", independent of q and k.  theta [d/2], r any distance in tokens.  It is not monotone.
/// Source: Su et al. 2021, section 3.4.3.
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

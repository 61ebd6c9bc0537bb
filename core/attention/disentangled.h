#pragma once
// Disentangled attention, one function per term.  He et al. 2021, eq. 4; microsoft/DeBERTa disentangled_attention.py.
// All terms are raw: one division by sqrt(n d) follows their sum.
#include "core/attention/softmax.h"
#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// Which position terms a model adds to content-to-content.
struct Terms {
    bool c2p = true;
    bool p2c = true;
    bool p2p = false;  // in no released model; an extra for lessons

    /// n = 1 + the number of active terms, as in the scale sqrt(n d).
    int count() const { return 1 + int{c2p} + int{p2c} + int{p2p}; }
};

/// Whose offset addresses the position query in p2c.
enum class P2cIndex {
    official_ij,  // k_j . q_r[delta(i,j)]: every implementation and every released model
    paper_ji,     // k_j . q_r[delta(j,i)]: the equation as printed
};

/// Content to content, raw: c2c[i,j] = q_i . k_j.   q [Tq,d], k [Tk,d] -> [Tq,Tk].  Throws if the widths differ.
template <class Scalar>
Matrix<Scalar> content_to_content(const ConstView<Scalar>& q, const ConstView<Scalar>& k);

/// Content to position, raw: c2p[i,j] = q_i . k_r[delta(i,j)].
/// q [Tq,d], k_r [2k,d], line of Tq x Tk pairs -> [Tq,Tk].  Throws if widths, rows or the line do not fit.
template <class Scalar>
Matrix<Scalar> content_to_position(const ConstView<Scalar>& q, const ConstView<Scalar>& k_r,
                                   const RelativeBuckets& line);

/// Position to content, raw: p2c[i,j] = k_j . q_r[delta(i,j)]  (paper_ji: delta(j,i)).
/// k [Tk,d], q_r [2k,d], line of Tq x Tk pairs (i,j); for paper_ji of Tk x Tq pairs (j,i) -> [Tq,Tk].
/// The two lines are the same where Tq = Tk.  Throws if widths, rows or the line do not fit.
template <class Scalar>
Matrix<Scalar> position_to_content(const ConstView<Scalar>& k, const ConstView<Scalar>& q_r,
                                   const RelativeBuckets& line, P2cIndex index = P2cIndex::official_ij);

/// scores += content_to_position or position_to_content, without a matrix of its own: what a pass does where nobody
/// asked for the term by itself.  scores [Tq,Tk]; the rest as above.
template <class Scalar>
void add_content_to_position(const ConstView<Scalar>& q, const ConstView<Scalar>& k_r, const RelativeBuckets& line,
                             View<Scalar> scores);
template <class Scalar>
void add_position_to_content(const ConstView<Scalar>& k, const ConstView<Scalar>& q_r, const RelativeBuckets& line,
                             P2cIndex index, View<Scalar> scores);

/// Position to position, raw: p2p[i,j] = q_r[delta(j,i)] . k_r[delta(i,j)].  Not in any released model (spec 2.6).
/// q_r, k_r [2k,d], line of Tq x Tk pairs -> [Tq,Tk].
template <class Scalar>
Matrix<Scalar> position_to_position(const ConstView<Scalar>& q_r, const ConstView<Scalar>& k_r,
                                    const RelativeBuckets& line);

/// sqrt(n d), what the sum of n raw terms is divided by.
template <class Scalar>
Scalar score_divisor(int terms, Index head_width);

}  // namespace locus

#pragma once
// Disentangled attention of DeBERTa, one function per term: forward, backward, and one cell step by step.
// He et al. 2021, eq. 4; microsoft/DeBERTa disentangled_attention.py.
//
//   A[i,j] =  q_i . k_j   +   q_i . k_r[delta(i,j)]   +   k_j . q_r[delta(i,j)]
//             c2c             c2p                         p2c (the paper prints delta(j,i), see P2cIndex)
//
// All terms are raw: one division by sqrt(n d) follows their sum.  core/fast/ has the same numbers faster.
// Letters: Tq queries, Tk keys, d head width, k span (the relative tables have 2k rows), i query, j key.
#include <vector>

#include "core/attention/softmax.h"
#include "core/positions/relative_buckets.h"
#include "core/products.h"
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

// Forward

/// Content to content, raw: c2c[i,j] = q_i . k_j.
/// q [Tq,d], k [Tk,d] -> [Tq,Tk].  Throws Error(usage) if the widths differ.
template <class Scalar>
Matrix<Scalar> content_to_content(const ConstView<Scalar>& q, const ConstView<Scalar>& k);

/// Content to position, raw: c2p[i,j] = q_i . k_r[delta(i,j)].
/// q [Tq,d], k_r [2k,d], buckets of Tq x Tk pairs -> [Tq,Tk].  Throws Error(usage) if widths, rows or buckets do not
/// fit.
template <class Scalar>
Matrix<Scalar> content_to_position(const ConstView<Scalar>& q, const ConstView<Scalar>& k_r,
                                   const RelativeBuckets& buckets);

/// Position to content, raw: p2c[i,j] = k_j . q_r[delta(i,j)]  (paper_ji: delta(j,i)).
/// k [Tk,d], q_r [2k,d], buckets of Tq x Tk pairs (i,j); for paper_ji of Tk x Tq pairs (j,i) -> [Tq,Tk].
/// The two are the same where Tq = Tk.  Throws Error(usage) if widths, rows or buckets do not fit.
template <class Scalar>
Matrix<Scalar> position_to_content(const ConstView<Scalar>& k, const ConstView<Scalar>& q_r,
                                   const RelativeBuckets& buckets, P2cIndex index = P2cIndex::official_ij);

/// Position to position, raw: p2p[i,j] = q_r[delta(j,i)] . k_r[delta(i,j)].  In no released model; He et al. 2021,
/// section 3.1, leave it out.
/// q_r, k_r [2k,d], buckets of T x T pairs -> [T,T].  Throws Error(usage) if rows or buckets do not fit.
template <class Scalar>
Matrix<Scalar> position_to_position(const ConstView<Scalar>& q_r, const ConstView<Scalar>& k_r,
                                    const RelativeBuckets& buckets);

/// sqrt(n d), what the sum of n raw terms is divided by.
template <class Scalar>
Scalar score_divisor(int terms, Index head_width);

// Backward

/// One head: what its forward pass was given, and the probabilities that it computed.
template <class Scalar>
struct DisentangledHead {
    Matrix<Scalar> q, k, v;   // [Tq,d], [Tk,d], [Tk,d]
    Matrix<Scalar> k_r, q_r;  // [2k,d]; empty: the term is off
    Matrix<Scalar> probs;     // [Tq,Tk], after the softmax and before dropout; hidden keys and rows are 0
    Matrix<Scalar> keep;      // [Tq,Tk], 0 or 1 / (1 - p); empty: no dropout
    Scalar divisor = 1;       // sqrt(n d)
    P2cIndex p2c_index = P2cIndex::official_ij;  // which row p2c read; paper_ji only where Tq = Tk
};

/// Gradients, each of the shape of what it belongs to.  One head's share: those of k_r and q_r are to be summed over
/// samples, and over layers where these share a table.
template <class Scalar>
struct DisentangledGradients {
    Matrix<Scalar> q, k, v, k_r, q_r;
    Matrix<Scalar> scores;  // [Tq,Tk], of the sum of the raw terms, before the division
};

/// With Z = keep and * element by element:  dV = (P * Z)^T dO;  dP = (dO V^T) * Z;  dS = P * (dP - rowsum(P * dP)) /
/// sqrt(n d).  The gathers become sums: Gc[i,r] over j, and Gp[j,r] over i, of dS[i,j] for the pairs with delta(i,j) =
/// r (paper_ji: Gp for delta(j,i) = r).  Then dQ = dS K + Gc K_r;  dK = dS^T Q + Gp Q_r;  dK_r = Gc^T Q;  dQ_r = Gp^T
/// K.  d_context [Tq,d]; buckets of Tq x Tk pairs, the same for both terms.  A table row that no pair addresses gets
/// exactly 0.  Throws Error(usage) that names what does not fit. Source: the chain rule on He et al. 2021, eq. 4;
/// checked against torch's autograd of microsoft/DeBERTa.
template <class Scalar>
DisentangledGradients<Scalar> disentangled_backward(const DisentangledHead<Scalar>& head,
                                                    const RelativeBuckets& buckets, const ConstView<Scalar>& d_context);

template <class Scalar>
struct PositionGradients {
    Matrix<Scalar> q_r, k_r;  // [2k,d]
};

/// p2p_ij = q_r[delta(j,i)] . k_r[delta(i,j)] reads no token, so pairs count only by their two rows: with
/// N[r,s] = sum of d_p2p_ij over the pairs with delta(j,i) = r and delta(i,j) = s,  d_q_r = N k_r,  d_k_r = N^T q_r.
/// q_r, k_r [2k,d], buckets of T x T pairs, d_p2p [T,T], of the raw term (DisentangledGradients::scores).
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
PositionGradients<Scalar> position_to_position_backward(const ConstView<Scalar>& q_r, const ConstView<Scalar>& k_r,
                                                        const RelativeBuckets& buckets, const ConstView<Scalar>& d_p2p);

// Explanation

/// What one head of one pass is made of.  k_r or q_r stay empty where the term is not active.
template <class Scalar>
struct HeadTensors {
    Matrix<Scalar> q, k;      // [Tq,d], [Tk,d]
    Matrix<Scalar> k_r, q_r;  // [2k,d]
    Mask mask;                // [Tq,Tk] or empty
    MaskedRow masked_row = MaskedRow::zero;
};

/// Which terms enter the sum of an experiment; a dropped one is still explained.
struct KeptTerms {
    bool c2c = true, c2p = true, p2c = true;

    bool all() const { return c2c && c2p && p2c; }
    bool operator==(const KeptTerms&) const = default;
};

/// Why is this cell 0.214?  From the vectors to the score; the base has the steps from the score to the probability.
template <class Scalar>
struct CellExplanation : SoftmaxSteps<Scalar> {
    Index i = 0, j = 0;
    Index offset = 0;                       // i - j
    Index bucket = 0;                       // row - span, what the offset became
    TermExplanation<Scalar> c2c, c2p, p2c;  // q_i . k_j, q_i . k_r[row], k_j . q_r[row]
    KeptTerms kept;                         // of the sum
    Scalar sum = 0;                         // c2c + c2p + p2c, of those that are kept
    int terms = 0;                          // n
    Scalar divisor = 1;                     // sqrt(n d)
    Scalar score = 0;                       // sum / divisor
};

/// Replays cell (i, j) by scalar arithmetic; every number has exactly the bits that the matrix functions give (asserted
/// by tests).  `divisor_terms` is n (1 + active terms, unless a dialect counts otherwise).
/// Throws Error(usage) if i, j or the shapes do not fit.
template <class Scalar>
CellExplanation<Scalar> explain_cell(const HeadTensors<Scalar>& head, const RelativeBuckets& buckets,
                                     P2cIndex p2c_index, int divisor_terms, Index i, Index j, KeptTerms kept = {});

}  // namespace locus

#pragma once
// Disentangled attention backwards: from the gradient of the context to those of everything it was made of.
#include "core/attention/disentangled.h"

namespace locus {

/// What one head's forward pass was given and left behind.
template <class Scalar>
struct DisentangledHead {
    Matrix<Scalar> q, k, v;   // [Tq,d], [Tk,d], [Tk,d]
    Matrix<Scalar> k_r, q_r;  // [2k,d]; empty: the term is off
    Matrix<Scalar> probs;     // [Tq,Tk], after the softmax and before dropout; hidden keys and rows are 0
    Matrix<Scalar> keep;      // [Tq,Tk], 0 or 1 / (1 - share); empty: no dropout
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

/// dV = (P Z)^T dO;  dP = (dO V^T) Z;  dS = P (dP - rowsum(P dP)) / sqrt(n d), and then, with the scores of row i
/// scattered by delta(i,j):  Gc[i,r] = sum of dS[i,j] and Gp[j,r] = sum of dS[i,j] over the pairs of row r =
/// delta(i,j), dQ = dS K + Gc K_r;  dK = dS^T Q + Gp Q_r;  dK_r = Gc^T Q;  dQ_r = Gp^T K.  (paper_ji: Gp over the pairs
/// of row r = delta(j,i).)  d_context [Tq,d]; line of Tq x Tk pairs, the same for both terms.  A table row that no pair
/// addresses gets exactly 0.  Throws Error(usage) that names what does not fit.
/// Source: the chain rule on He et al. 2021, eq. 4; checked against torch's autograd of microsoft/DeBERTa.
template <class Scalar>
DisentangledGradients<Scalar> disentangled_backward(const DisentangledHead<Scalar>& head, const RelativeBuckets& line,
                                                    const ConstView<Scalar>& d_context);

template <class Scalar>
struct PositionGradients {
    Matrix<Scalar> q_r, k_r;  // [2k,d]
};

/// p2p_ij = q_r[delta(j,i)] . k_r[delta(i,j)] reads no token, so pairs count only by their two rows: with
/// N[r,s] = sum of d_p2p_ij over the pairs with delta(j,i) = r and delta(i,j) = s,  d_q_r = N k_r,  d_k_r = N^T q_r.
/// q_r, k_r [2k,d], line of T x T pairs, d_p2p [T,T], of the raw term (DisentangledGradients::scores).
template <class Scalar>
PositionGradients<Scalar> position_to_position_backward(const ConstView<Scalar>& q_r, const ConstView<Scalar>& k_r,
                                                        const RelativeBuckets& line, const ConstView<Scalar>& d_p2p);

}  // namespace locus

#pragma once
// The GPU twins of core/attention/disentangled.h and softmax.h: same names, shapes and order of sums, one simple kernel
// each.  Every function throws Error(unsupported) in one sentence where there is no device.
#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"

namespace locus::cuda {

/// c2c[i,j] = q_i . k_j.   q [Tq,d], k [Tk,d] -> [Tq,Tk].
template <class Scalar>
Matrix<Scalar> content_to_content(const Matrix<Scalar>& q, const Matrix<Scalar>& k);

/// c2p[i,j] = q_i . k_r[delta(i,j)].   q [Tq,d], k_r [2k,d], line of Tq x Tk pairs -> [Tq,Tk].
template <class Scalar>
Matrix<Scalar> content_to_position(const Matrix<Scalar>& q, const Matrix<Scalar>& k_r, const RelativeBuckets& line);

/// p2c[i,j] = k_j . q_r[delta(i,j)]  (paper_ji: delta(j,i)).
/// k [Tk,d], q_r [2k,d], line of Tq x Tk pairs (i,j); for paper_ji of Tk x Tq pairs (j,i) -> [Tq,Tk].
template <class Scalar>
Matrix<Scalar> position_to_content(const Matrix<Scalar>& k, const Matrix<Scalar>& q_r, const RelativeBuckets& line,
                                   P2cIndex index = P2cIndex::official_ij);

/// p2p[i,j] = q_r[delta(j,i)] . k_r[delta(i,j)].   q_r, k_r [2k,d], line of T x T pairs -> [T,T].
template <class Scalar>
Matrix<Scalar> position_to_position(const Matrix<Scalar>& q_r, const Matrix<Scalar>& k_r, const RelativeBuckets& line);

/// Softmax over visible keys; hidden keys exactly 0.   scores [Tq,Tk], mask [Tq,Tk] or empty -> [Tq,Tk].
template <class Scalar>
Matrix<Scalar> masked_softmax(const Matrix<Scalar>& scores, const Mask& mask, MaskedRow masked_row = MaskedRow::zero);

/// context[i] = sum over j of probs[i,j] v_j.   probs [Tq,Tk], v [Tk,d] -> [Tq,d].
template <class Scalar>
Matrix<Scalar> context(const Matrix<Scalar>& probs, const Matrix<Scalar>& v);

}  // namespace locus::cuda

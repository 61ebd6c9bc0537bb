#include "core/attention/shaw_backward.h"

#include <cmath>

#include "core/attention/softmax_backward.h"
#include "core/check_shape.h"

namespace locus {

namespace {

/// by_row[i, row(j - i)] += pairs[i,j]; what shaw_position_context adds up first.
template <class Scalar>
Matrix<Scalar> gathered_by_row(const Matrix<Scalar>& pairs, Index span) {
    Matrix<Scalar> by_row = Matrix<Scalar>::Zero(pairs.rows(), 2 * span + 1);
    for (Index i = 0; i < pairs.rows(); ++i)
        for (Index j = 0; j < pairs.cols(); ++j) by_row(i, shaw_row(j - i, span)) += pairs(i, j);
    return by_row;
}

template <class Scalar>
void check_operands(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                    const ConstView<Scalar>& a_k, const ConstView<Scalar>& a_v, const ConstView<Scalar>& probs,
                    const ConstView<Scalar>& keep, const ConstView<Scalar>& d_context) {
    constexpr const char* kName = "shaw_backward";
    check_shape(kName, "k", k, k.rows(), q.cols());
    check_shape(kName, "v", v, k.rows(), v.cols());
    check_shape(kName, "a_k", a_k, a_k.rows(), q.cols());
    check_shape(kName, "a_v", a_v, a_k.rows(), v.cols());
    check_shape(kName, "probs", probs, q.rows(), k.rows());
    check_shape(kName, "the gradient of the context", d_context, q.rows(), v.cols());
    if (keep.size() > 0) check_shape(kName, "keep", keep, q.rows(), k.rows());
}

}  // namespace

template <class Scalar>
ShawGradients<Scalar> shaw_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                    const ConstView<Scalar>& a_k, const ConstView<Scalar>& a_v,
                                    const ConstView<Scalar>& probs, const ConstView<Scalar>& keep,
                                    const ConstView<Scalar>& d_context) {
    check_operands<Scalar>(q, k, v, a_k, a_v, probs, keep, d_context);
    const Index span = shaw_span("shaw_backward: a_k", a_k.rows());
    // Values: d_context meets a_v as queries meet a_k, each row once, and pairs pick from the products.
    Matrix<Scalar> dropped = probs, d_probs = d_context * v.transpose();
    d_probs += shaw_position_scores<Scalar>(d_context, a_v, k.rows());
    if (keep.size() > 0) {
        dropped.array() *= keep.array();
        d_probs.array() *= keep.array();
    }
    ShawGradients<Scalar> grad;
    grad.v = dropped.transpose() * d_context;
    grad.a_v = gathered_by_row(dropped, span).transpose() * d_context;

    grad.scores = softmax_backward<Scalar>(probs, d_probs) / std::sqrt(Scalar(q.cols()));
    const Matrix<Scalar> by_row = gathered_by_row(grad.scores, span);
    grad.q = grad.scores * k + by_row * a_k;
    grad.k = grad.scores.transpose() * q;
    grad.a_k = by_row.transpose() * q;
    return grad;
}

template ShawGradients<float> shaw_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                   const ConstView<float>&, const ConstView<float>&,
                                                   const ConstView<float>&, const ConstView<float>&,
                                                   const ConstView<float>&, const ConstView<float>&);
template ShawGradients<double> shaw_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                     const ConstView<double>&, const ConstView<double>&,
                                                     const ConstView<double>&, const ConstView<double>&,
                                                     const ConstView<double>&, const ConstView<double>&);

}  // namespace locus

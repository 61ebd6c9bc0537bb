#include "core/attention/disentangled_backward.h"

#include "core/attention/slices_backward.h"

namespace locus {

namespace {

template <class Scalar>
void check_shape(const char* what, const Matrix<Scalar>& matrix, Index rows, Index cols) {
    LOCUS_CHECK(matrix.rows() == rows && matrix.cols() == cols,
                std::string("disentangled_backward: ") + what + " is " + std::to_string(matrix.rows()) + " x " +
                    std::to_string(matrix.cols()) + ", expected " + std::to_string(rows) + " x " +
                    std::to_string(cols));
}

template <class Scalar>
void check_shapes(const DisentangledHead<Scalar>& head, const BucketLine& line, const Matrix<Scalar>& d_context) {
    const Index queries = line.queries(), keys = line.keys(), width = head.q.cols();
    check_shape("q", head.q, queries, width);
    check_shape("k", head.k, keys, width);
    check_shape("v", head.v, keys, head.v.cols());
    check_shape("probs", head.probs, queries, keys);
    check_shape("the gradient of the context", d_context, queries, head.v.cols());
    if (head.keep.size() > 0) check_shape("keep", head.keep, queries, keys);
    if (head.k_r.size() > 0) check_shape("k_r", head.k_r, 2 * line.span(), width);
    if (head.q_r.size() > 0) check_shape("q_r", head.q_r, 2 * line.span(), width);
}

}  // namespace

template <class Scalar>
DisentangledGradients<Scalar> disentangled_backward(const DisentangledHead<Scalar>& head, const BucketLine& line,
                                                    const ConstView<Scalar>& d_context) {
    check_shapes<Scalar>(head, line, d_context);
    DisentangledGradients<Scalar> grad;
    Matrix<Scalar> dropped = head.probs, d_probs = d_context * head.v.transpose();
    if (head.keep.size() > 0) {
        dropped.array() *= head.keep.array();
        d_probs.array() *= head.keep.array();
    }
    grad.v = dropped.transpose() * d_context;
    // The softmax: a row's probabilities add up to 1, so what all of them gain together moves none.
    const Matrix<Scalar> along = (head.probs.array() * d_probs.array()).rowwise().sum();
    grad.scores = head.probs.array() * (d_probs.array().colwise() - along.array().col(0)) / head.divisor;

    grad.q = grad.scores * head.k;
    grad.k = grad.scores.transpose() * head.q;
    if (head.k_r.size() > 0) {
        const Matrix<Scalar> by_query = scatter_slices_by_query<Scalar>(grad.scores, line);
        grad.q += by_query * head.k_r;
        grad.k_r = by_query.transpose() * head.q;
    }
    if (head.q_r.size() > 0) {
        const Matrix<Scalar> by_key = scatter_slices_by_key<Scalar>(grad.scores, line);
        grad.k += by_key * head.q_r;
        grad.q_r = by_key.transpose() * head.k;
    }
    return grad;
}

template DisentangledGradients<float> disentangled_backward<float>(const DisentangledHead<float>&, const BucketLine&,
                                                                   const ConstView<float>&);
template DisentangledGradients<double> disentangled_backward<double>(const DisentangledHead<double>&, const BucketLine&,
                                                                     const ConstView<double>&);

}  // namespace locus

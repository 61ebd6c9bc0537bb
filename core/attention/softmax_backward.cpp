#include "core/attention/softmax_backward.h"

#include "core/check_shape.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> softmax_backward(const ConstView<Scalar>& probs, const ConstView<Scalar>& d_probs) {
    check_shape("softmax_backward", "d_probs", d_probs, probs.rows(), probs.cols());
    const Matrix<Scalar> along = (probs.array() * d_probs.array()).rowwise().sum();
    return probs.array() * (d_probs.array().colwise() - along.array().col(0));
}

template <class Scalar>
ContextGradients<Scalar> context_backward(const ConstView<Scalar>& probs, const ConstView<Scalar>& keep,
                                          const ConstView<Scalar>& v, const ConstView<Scalar>& d_context) {
    check_shape("context_backward", "v", v, probs.cols(), v.cols());
    check_shape("context_backward", "the gradient of the context", d_context, probs.rows(), v.cols());
    Matrix<Scalar> dropped = probs, d_probs = d_context * v.transpose();
    if (keep.size() > 0) {
        check_shape("context_backward", "keep", keep, probs.rows(), probs.cols());
        dropped.array() *= keep.array();
        d_probs.array() *= keep.array();
    }
    return {dropped.transpose() * d_context, softmax_backward<Scalar>(probs, d_probs)};
}

template Matrix<float> softmax_backward<float>(const ConstView<float>&, const ConstView<float>&);
template ContextGradients<float> context_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                         const ConstView<float>&, const ConstView<float>&);
template Matrix<double> softmax_backward<double>(const ConstView<double>&, const ConstView<double>&);
template ContextGradients<double> context_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                           const ConstView<double>&, const ConstView<double>&);

}  // namespace locus

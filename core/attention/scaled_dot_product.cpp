#include "core/attention/scaled_dot_product.h"

#include <cmath>

#include "core/attention/softmax.h"
#include "core/products.h"
#include "core/tensor.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> scaled_dot_product(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                  const Mask& mask) {
    LOCUS_CHECK(k.rows() == v.rows(), "scaled_dot_product: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
    const Matrix<Scalar> scores = products_of_rows<Scalar>(q, k) / std::sqrt(Scalar(q.cols()));
    return times<Scalar>(masked_softmax<Scalar>(scores, mask), v);
}

template <class Scalar>
DotProductGradients<Scalar> dot_product_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                                 const ConstView<Scalar>& v, const ConstView<Scalar>& probs,
                                                 const ConstView<Scalar>& keep, Scalar divisor,
                                                 const ConstView<Scalar>& d_context) {
    check_shape("dot_product_backward", "k", k, k.rows(), q.cols());
    check_shape("dot_product_backward", "probs", probs, q.rows(), k.rows());
    ContextGradients<Scalar> end = context_backward<Scalar>(probs, keep, v, d_context);
    const Matrix<Scalar> d_products = end.scores / divisor;
    return {times<Scalar>(d_products, k), transposed_times<Scalar>(d_products, q), std::move(end.v),
            std::move(end.scores)};
}

template <class Scalar>
DotProductGradients<Scalar> scaled_dot_product_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                                        const ConstView<Scalar>& v, const ConstView<Scalar>& probs,
                                                        const ConstView<Scalar>& keep,
                                                        const ConstView<Scalar>& d_context) {
    return dot_product_backward<Scalar>(q, k, v, probs, keep, std::sqrt(Scalar(q.cols())), d_context);
}

template Matrix<float> scaled_dot_product<float>(const ConstView<float>&, const ConstView<float>&,
                                                 const ConstView<float>&, const Mask&);
template Matrix<double> scaled_dot_product<double>(const ConstView<double>&, const ConstView<double>&,
                                                   const ConstView<double>&, const Mask&);
template DotProductGradients<float> dot_product_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                                const ConstView<float>&, const ConstView<float>&,
                                                                const ConstView<float>&, float,
                                                                const ConstView<float>&);
template DotProductGradients<double> dot_product_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                                  const ConstView<double>&, const ConstView<double>&,
                                                                  const ConstView<double>&, double,
                                                                  const ConstView<double>&);
template DotProductGradients<float> scaled_dot_product_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                                       const ConstView<float>&, const ConstView<float>&,
                                                                       const ConstView<float>&,
                                                                       const ConstView<float>&);
template DotProductGradients<double> scaled_dot_product_backward<double>(
    const ConstView<double>&, const ConstView<double>&, const ConstView<double>&, const ConstView<double>&,
    const ConstView<double>&, const ConstView<double>&);

}  // namespace locus

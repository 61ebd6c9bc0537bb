#include "core/attention/biased_backward.h"

#include <cmath>

#include "core/attention/scaled_dot_product_backward.h"

namespace locus {

template <class Scalar>
BiasedGradients<Scalar> biased_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const ConstView<Scalar>& v, ContentScale scale, const ConstView<Scalar>& probs,
                                        const ConstView<Scalar>& keep, const ConstView<Scalar>& d_context) {
    const Scalar divisor = scale == ContentScale::inverse_root ? std::sqrt(Scalar(q.cols())) : Scalar(1);
    DotProductGradients<Scalar> products = dot_product_backward<Scalar>(q, k, v, probs, keep, divisor, d_context);
    const Index queries = q.rows(), keys = k.rows();
    RowVector<Scalar> bias = RowVector<Scalar>::Zero(queries + keys - 1);
    for (Index i = 0; i < queries; ++i) bias.segment(queries - 1 - i, keys) += products.scores.row(i);
    return {std::move(products.q), std::move(products.k), std::move(products.v), std::move(bias)};
}

template BiasedGradients<float> biased_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                       const ConstView<float>&, ContentScale, const ConstView<float>&,
                                                       const ConstView<float>&, const ConstView<float>&);
template BiasedGradients<double> biased_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                         const ConstView<double>&, ContentScale,
                                                         const ConstView<double>&, const ConstView<double>&,
                                                         const ConstView<double>&);

}  // namespace locus

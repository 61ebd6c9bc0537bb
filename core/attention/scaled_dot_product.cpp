#include "core/attention/scaled_dot_product.h"

#include <cmath>

#include "core/attention/products.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> scaled_dot_product(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                  const Mask& mask) {
    LOCUS_CHECK(k.rows() == v.rows(), "scaled_dot_product: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
    const Matrix<Scalar> scores = products_of_rows<Scalar>(q, k) / std::sqrt(Scalar(q.cols()));
    return masked_softmax<Scalar>(scores, mask) * v;
}

template Matrix<float> scaled_dot_product<float>(const ConstView<float>&, const ConstView<float>&,
                                                 const ConstView<float>&, const Mask&);
template Matrix<double> scaled_dot_product<double>(const ConstView<double>&, const ConstView<double>&,
                                                   const ConstView<double>&, const Mask&);

}  // namespace locus

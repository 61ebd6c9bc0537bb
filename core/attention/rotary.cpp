#include "core/attention/rotary.h"

#include <cmath>

#include "core/attention/products.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> rotary_scores(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const RotaryTable<Scalar>& q_table,
                             const RotaryTable<Scalar>& k_table, RotaryLayout layout) {
    return products_of_rows<Scalar>(rotate<Scalar>(q, q_table, layout), rotate<Scalar>(k, k_table, layout)) /
           std::sqrt(Scalar(q.cols()));
}

template <class Scalar>
Matrix<Scalar> rotary_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, const Mask& mask) {
    LOCUS_CHECK(k.rows() == v.rows(), "rotary_attention: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
    return masked_softmax<Scalar>(rotary_scores<Scalar>(q, k, table, table, layout), mask) * v;
}

template Matrix<float> rotary_scores<float>(const ConstView<float>&, const ConstView<float>&, const RotaryTable<float>&,
                                            const RotaryTable<float>&, RotaryLayout);
template Matrix<double> rotary_scores<double>(const ConstView<double>&, const ConstView<double>&,
                                              const RotaryTable<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<float> rotary_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                               const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                               const Mask&);
template Matrix<double> rotary_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                 const ConstView<double>&, const RotaryTable<double>&, RotaryLayout,
                                                 const Mask&);

}  // namespace locus

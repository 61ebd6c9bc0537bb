#include "core/attention/rotary_backward.h"

namespace locus {

template <class Scalar>
DotProductGradients<Scalar> rotary_backward(const RotaryHead<Scalar>& head, const RotaryTable<Scalar>& table,
                                            RotaryLayout layout, const ConstView<Scalar>& d_context) {
    const Matrix<Scalar> v = head.turns_values ? rotate<Scalar>(head.v, table, layout) : head.v;
    DotProductGradients<Scalar> grad =
        scaled_dot_product_backward<Scalar>(rotate<Scalar>(head.q, table, layout),
                                            rotate<Scalar>(head.k, table, layout), v, head.probs, head.keep, d_context);
    grad.q = rotate_back<Scalar>(grad.q, table, layout);
    grad.k = rotate_back<Scalar>(grad.k, table, layout);
    if (head.turns_values) grad.v = rotate_back<Scalar>(grad.v, table, layout);
    return grad;
}

template DotProductGradients<float> rotary_backward<float>(const RotaryHead<float>&, const RotaryTable<float>&,
                                                           RotaryLayout, const ConstView<float>&);
template DotProductGradients<double> rotary_backward<double>(const RotaryHead<double>&, const RotaryTable<double>&,
                                                             RotaryLayout, const ConstView<double>&);

}  // namespace locus

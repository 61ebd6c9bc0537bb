#include "cuda/reference/rotary.h"

#include "cuda/device_place.h"
#include "cuda/reference/rotary_kernels.h"

namespace locus::cuda {

template <class Scalar>
Matrix<Scalar> rotate(const Matrix<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout) {
    return twin::rotate(Device(), x, table, layout);
}

template <class Scalar>
Matrix<Scalar> rotate_back(const Matrix<Scalar>& y, const RotaryTable<Scalar>& table, RotaryLayout layout) {
    return twin::rotate_back(Device(), y, table, layout);
}

template <class Scalar>
Matrix<Scalar> rotary_scores(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const RotaryTable<Scalar>& q_table,
                             const RotaryTable<Scalar>& k_table, RotaryLayout layout) {
    return twin::rotary_scores(Device(), q, k, q_table, k_table, layout);
}

template <class Scalar>
Matrix<Scalar> rotary_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, const Mask& mask) {
    return twin::rotary_attention(Device(), q, k, v, table, layout, mask);
}

template Matrix<float> rotate<float>(const Matrix<float>&, const RotaryTable<float>&, RotaryLayout);
template Matrix<float> rotate_back<float>(const Matrix<float>&, const RotaryTable<float>&, RotaryLayout);
template Matrix<float> rotary_scores<float>(const Matrix<float>&, const Matrix<float>&, const RotaryTable<float>&,
                                            const RotaryTable<float>&, RotaryLayout);
template Matrix<float> rotary_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                               const RotaryTable<float>&, RotaryLayout, const Mask&);
template Matrix<double> rotate<double>(const Matrix<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<double> rotate_back<double>(const Matrix<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<double> rotary_scores<double>(const Matrix<double>&, const Matrix<double>&, const RotaryTable<double>&,
                                              const RotaryTable<double>&, RotaryLayout);
template Matrix<double> rotary_attention<double>(const Matrix<double>&, const Matrix<double>&, const Matrix<double>&,
                                                 const RotaryTable<double>&, RotaryLayout, const Mask&);

}  // namespace locus::cuda

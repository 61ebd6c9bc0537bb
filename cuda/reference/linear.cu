#include "cuda/reference/linear.h"

#include "cuda/device_place.h"
#include "cuda/reference/linear_kernels.h"

namespace locus::cuda {

template <class Scalar>
Matrix<Scalar> positive_features(const Matrix<Scalar>& x) {
    return twin::positive_features(Device(), x);
}

template <class Scalar>
Matrix<Scalar> linear_attention_weights(const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                        const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                        bool causal, const std::vector<bool>& visible) {
    return twin::linear_attention_weights(Device(), q, k, table, layout, form, causal, visible);
}

template <class Scalar>
Matrix<Scalar> linear_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                const std::vector<bool>& visible) {
    return twin::linear_attention(Device(), q, k, v, table, layout, form, visible);
}

template <class Scalar>
Matrix<Scalar> causal_linear_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                       const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                       const std::vector<bool>& visible) {
    return twin::causal_linear_attention(Device(), q, k, v, table, layout, form, visible);
}

template Matrix<float> positive_features<float>(const Matrix<float>&);
template Matrix<float> linear_attention_weights<float>(const Matrix<float>&, const Matrix<float>&,
                                                       const RotaryTable<float>&, RotaryLayout, LinearForm, bool,
                                                       const std::vector<bool>&);
template Matrix<float> linear_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                               const RotaryTable<float>&, RotaryLayout, LinearForm,
                                               const std::vector<bool>&);
template Matrix<float> causal_linear_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                                      const RotaryTable<float>&, RotaryLayout, LinearForm,
                                                      const std::vector<bool>&);
template Matrix<double> positive_features<double>(const Matrix<double>&);
template Matrix<double> linear_attention_weights<double>(const Matrix<double>&, const Matrix<double>&,
                                                         const RotaryTable<double>&, RotaryLayout, LinearForm, bool,
                                                         const std::vector<bool>&);
template Matrix<double> linear_attention<double>(const Matrix<double>&, const Matrix<double>&, const Matrix<double>&,
                                                 const RotaryTable<double>&, RotaryLayout, LinearForm,
                                                 const std::vector<bool>&);
template Matrix<double> causal_linear_attention<double>(const Matrix<double>&, const Matrix<double>&,
                                                        const Matrix<double>&, const RotaryTable<double>&, RotaryLayout,
                                                        LinearForm, const std::vector<bool>&);

}  // namespace locus::cuda

#include "core/attention/linear.h"

#include <algorithm>
#include <cmath>

#include "core/attention/products.h"

namespace locus {

namespace {

constexpr double kSmallestDenominator = 1e-6;

template <class Scalar>
void check_values(const ConstView<Scalar>& k, const ConstView<Scalar>& v) {
    LOCUS_CHECK(k.rows() == v.rows(), "linear attention: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
}

}  // namespace

template <class Scalar>
Scalar linear_denominator(Scalar sum) {
    // Written so that NaN stays NaN.
    return sum < Scalar(kSmallestDenominator) ? Scalar(kSmallestDenominator) : sum;
}

template <class Scalar>
Matrix<Scalar> linear_attention_weights(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                        bool causal, const std::vector<bool>& visible) {
    const LinearFeatures<Scalar> f = linear_features<Scalar>(q, k, table, layout, form, visible);
    Matrix<Scalar> weights = products_of_rows<Scalar>(f.q, f.k);
    const Matrix<Scalar> positive = products_of_rows<Scalar>(f.q_z, f.k_z);
    for (Index i = 0; i < weights.rows(); ++i) {
        const Index seen = causal ? i + 1 : weights.cols();
        Scalar sum = 0;  // key after key, so that a reader can replay it
        for (Index j = 0; j < seen; ++j) sum += positive(i, j);
        weights.row(i).head(seen) /= linear_denominator<Scalar>(sum);
        weights.row(i).tail(weights.cols() - seen).setZero();
    }
    return weights;
}

template <class Scalar>
Matrix<Scalar> linear_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                const std::vector<bool>& visible) {
    check_values<Scalar>(k, v);
    const LinearFeatures<Scalar> f = linear_features<Scalar>(q, k, table, layout, form, visible);
    const Matrix<Scalar> kv = f.k.transpose() * v;      // [d, d_v]
    const RowVector<Scalar> z = f.k_z.colwise().sum();  // [d]
    Matrix<Scalar> context = f.q * kv;                  // [T, d_v]
    for (Index i = 0; i < context.rows(); ++i) context.row(i) /= linear_denominator<Scalar>(f.q_z.row(i).dot(z));
    return context;
}

template <class Scalar>
Matrix<Scalar> causal_linear_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                       const ConstView<Scalar>& v, const RotaryTable<Scalar>& table,
                                       RotaryLayout layout, LinearForm form, const std::vector<bool>& visible) {
    check_values<Scalar>(k, v);
    const LinearFeatures<Scalar> f = linear_features<Scalar>(q, k, table, layout, form, visible);
    Matrix<Scalar> kv = Matrix<Scalar>::Zero(k.cols(), v.cols());
    RowVector<Scalar> z = RowVector<Scalar>::Zero(k.cols());
    Matrix<Scalar> context(q.rows(), v.cols());
    for (Index i = 0; i < q.rows(); ++i) {
        kv.noalias() += f.k.row(i).transpose() * v.row(i);
        z += f.k_z.row(i);
        context.row(i).noalias() = f.q.row(i) * kv;
        context.row(i) /= linear_denominator<Scalar>(f.q_z.row(i).dot(z));
    }
    return context;
}

template float linear_denominator<float>(float);
template double linear_denominator<double>(double);
template Matrix<float> linear_attention_weights<float>(const ConstView<float>&, const ConstView<float>&,
                                                       const RotaryTable<float>&, RotaryLayout, LinearForm, bool,
                                                       const std::vector<bool>&);
template Matrix<double> linear_attention_weights<double>(const ConstView<double>&, const ConstView<double>&,
                                                         const RotaryTable<double>&, RotaryLayout, LinearForm, bool,
                                                         const std::vector<bool>&);
template Matrix<float> linear_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                               const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                               LinearForm, const std::vector<bool>&);
template Matrix<double> linear_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                 const ConstView<double>&, const RotaryTable<double>&, RotaryLayout,
                                                 LinearForm, const std::vector<bool>&);
template Matrix<float> causal_linear_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                                      const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                                      LinearForm, const std::vector<bool>&);
template Matrix<double> causal_linear_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                        const ConstView<double>&, const RotaryTable<double>&,
                                                        RotaryLayout, LinearForm, const std::vector<bool>&);

}  // namespace locus

#include "core/attention/linear_features.h"

#include <cmath>

namespace locus {

template <class Scalar>
Matrix<Scalar> positive_features(const ConstView<Scalar>& x) {
    return x.unaryExpr([](Scalar v) { return v > 0 ? v + Scalar(1) : std::exp(v); });
}

template <class Scalar>
Matrix<Scalar> positive_features_backward(const ConstView<Scalar>& x, const ConstView<Scalar>& d_phi) {
    return x.binaryExpr(d_phi, [](Scalar v, Scalar d) { return v > 0 ? d : d * std::exp(v); });
}

template <class Scalar>
LinearFeatures<Scalar> linear_features(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                       const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                       const std::vector<bool>& visible) {
    LOCUS_CHECK(q.rows() == k.rows() && q.cols() == k.cols(), "linear attention: queries and keys differ in shape");
    LOCUS_CHECK(visible.empty() || static_cast<Index>(visible.size()) == k.rows(),
                "linear attention: " + std::to_string(visible.size()) + " marks for " + std::to_string(k.rows()) +
                    " keys, expected one each or none");
    LinearFeatures<Scalar> f;
    if (form == LinearForm::paper) {
        f.q_z = positive_features<Scalar>(q);
        f.k_z = positive_features<Scalar>(k);
        f.q = rotate<Scalar>(f.q_z, table, layout);
        f.k = rotate<Scalar>(f.k_z, table, layout);
    } else {
        f.q = f.q_z = positive_features<Scalar>(rotate<Scalar>(q, table, layout));
        f.k = f.k_z = positive_features<Scalar>(rotate<Scalar>(k, table, layout));
    }
    for (std::size_t j = 0; j < visible.size(); ++j)
        if (!visible[j]) {
            f.k.row(static_cast<Index>(j)).setZero();
            f.k_z.row(static_cast<Index>(j)).setZero();
        }
    return f;
}

template <class Scalar>
Matrix<Scalar> linear_features_backward(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table,
                                        RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_turned,
                                        const ConstView<Scalar>& d_plain) {
    if (form == LinearForm::paper)
        return positive_features_backward<Scalar>(x, rotate_back<Scalar>(d_turned, table, layout) + d_plain);
    const Matrix<Scalar> turned = rotate<Scalar>(x, table, layout);
    return rotate_back<Scalar>(positive_features_backward<Scalar>(turned, d_turned + d_plain), table, layout);
}

template Matrix<float> positive_features<float>(const ConstView<float>&);
template Matrix<double> positive_features<double>(const ConstView<double>&);
template Matrix<float> positive_features_backward<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<double> positive_features_backward<double>(const ConstView<double>&, const ConstView<double>&);
template LinearFeatures<float> linear_features<float>(const ConstView<float>&, const ConstView<float>&,
                                                      const RotaryTable<float>&, RotaryLayout, LinearForm,
                                                      const std::vector<bool>&);
template LinearFeatures<double> linear_features<double>(const ConstView<double>&, const ConstView<double>&,
                                                        const RotaryTable<double>&, RotaryLayout, LinearForm,
                                                        const std::vector<bool>&);
template Matrix<float> linear_features_backward<float>(const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                                       LinearForm, const ConstView<float>&, const ConstView<float>&);
template Matrix<double> linear_features_backward<double>(const ConstView<double>&, const RotaryTable<double>&,
                                                         RotaryLayout, LinearForm, const ConstView<double>&,
                                                         const ConstView<double>&);

}  // namespace locus

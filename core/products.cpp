#include "core/products.h"

namespace locus {

namespace {

void check_inner(const char* who, Index a, Index b) {
    LOCUS_CHECK(a == b, std::string(who) + ": matrices of " + std::to_string(a) + " and of " + std::to_string(b) +
                            " along the axis that is summed, expected as many");
}

}  // namespace

template <class Scalar>
Matrix<Scalar> times(const ConstView<Scalar>& a, const ConstView<Scalar>& b) {
    check_inner("times", a.cols(), b.rows());
    return a * b;
}

template <class Scalar>
Matrix<Scalar> times_transposed(const ConstView<Scalar>& a, const ConstView<Scalar>& b) {
    check_inner("times_transposed", a.cols(), b.cols());
    return a * b.transpose();
}

template <class Scalar>
Matrix<Scalar> transposed_times(const ConstView<Scalar>& a, const ConstView<Scalar>& b) {
    check_inner("transposed_times", a.rows(), b.rows());
    return a.transpose() * b;
}

template Matrix<float> times<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<float> times_transposed<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<float> transposed_times<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<double> times<double>(const ConstView<double>&, const ConstView<double>&);
template Matrix<double> times_transposed<double>(const ConstView<double>&, const ConstView<double>&);
template Matrix<double> transposed_times<double>(const ConstView<double>&, const ConstView<double>&);

}  // namespace locus

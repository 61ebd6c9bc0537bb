#include "cuda/reference/elementwise.h"

#include "cuda/device_place.h"
#include "cuda/reference/elementwise_kernels.h"

namespace locus::cuda {

template <class Scalar>
void add(const Matrix<Scalar>& x, Matrix<Scalar>& sum) {
    return twin::add(Device(), x, sum);
}

template <class Scalar>
void add_rows(const Matrix<Scalar>& table, const std::vector<std::int64_t>& ids, Matrix<Scalar>& sum) {
    return twin::add_rows(Device(), table, ids, sum);
}

template <class Scalar>
void multiply(Scalar factor, Matrix<Scalar>& x) {
    return twin::multiply(Device(), factor, x);
}

template <class Scalar>
void divide(Scalar divisor, Matrix<Scalar>& x) {
    return twin::divide(Device(), divisor, x);
}

template <class Scalar>
void multiply_rows(const RowVector<Scalar>& factors, Matrix<Scalar>& x) {
    return twin::multiply_rows(Device(), factors, x);
}

template <class Scalar>
Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) {
    return twin::mix_heads(Device(), scores, weight);
}

template void add<float>(const Matrix<float>&, Matrix<float>&);
template void add_rows<float>(const Matrix<float>&, const std::vector<std::int64_t>&, Matrix<float>&);
template void multiply<float>(float, Matrix<float>&);
template void divide<float>(float, Matrix<float>&);
template void multiply_rows<float>(const RowVector<float>&, Matrix<float>&);
template Tensor<float> mix_heads<float>(const Tensor<float>&, const Matrix<float>&);
template void add<double>(const Matrix<double>&, Matrix<double>&);
template void add_rows<double>(const Matrix<double>&, const std::vector<std::int64_t>&, Matrix<double>&);
template void multiply<double>(double, Matrix<double>&);
template void divide<double>(double, Matrix<double>&);
template void multiply_rows<double>(const RowVector<double>&, Matrix<double>&);
template Tensor<double> mix_heads<double>(const Tensor<double>&, const Matrix<double>&);

}  // namespace locus::cuda

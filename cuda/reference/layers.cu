#include "cuda/reference/layers.h"

#include "cuda/device_place.h"
#include "cuda/reference/layers_kernels.h"

namespace locus::cuda {

template <class Scalar>
Matrix<Scalar> dense(const Matrix<Scalar>& x, const Dense<Scalar>& layer) {
    return twin::dense(Device(), x, layer);
}

template <class Scalar>
Matrix<Scalar> layer_norm(const Matrix<Scalar>& x, const Norm<Scalar>& norm, double eps) {
    return twin::layer_norm(Device(), x, norm, eps);
}

template <class Scalar>
Matrix<Scalar> activate(const Matrix<Scalar>& x, Activation activation) {
    return twin::activate(Device(), x, activation);
}

template <class Scalar>
Matrix<Scalar> convolve(const Matrix<Scalar>& x, const Convolution<Scalar>& layer) {
    return twin::convolve(Device(), x, layer);
}

template Matrix<float> dense<float>(const Matrix<float>&, const Dense<float>&);
template Matrix<float> layer_norm<float>(const Matrix<float>&, const Norm<float>&, double);
template Matrix<float> activate<float>(const Matrix<float>&, Activation);
template Matrix<float> convolve<float>(const Matrix<float>&, const Convolution<float>&);
template Matrix<double> dense<double>(const Matrix<double>&, const Dense<double>&);
template Matrix<double> layer_norm<double>(const Matrix<double>&, const Norm<double>&, double);
template Matrix<double> activate<double>(const Matrix<double>&, Activation);
template Matrix<double> convolve<double>(const Matrix<double>&, const Convolution<double>&);

}  // namespace locus::cuda

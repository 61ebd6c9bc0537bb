#include "core/models/elementwise_backward.h"

#include "core/models/elementwise.h"
#include "core/tensor.h"

namespace locus {

template <class Scalar>
MixHeadsGradients<Scalar> mix_heads_backward(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight,
                                             const Tensor<Scalar>& d_mixed) {
    LOCUS_CHECK(d_mixed.shape() == scores.shape(), "mix_heads_backward: d_mixed is " + to_string(d_mixed.shape()) +
                                                       ", expected " + to_string(scores.shape()));
    const Index heads = scores.extent(1);
    check_shape("mix_heads_backward", "weight", weight, heads, heads);
    MixHeadsGradients<Scalar> grad{mix_heads<Scalar>(d_mixed, weight.transpose()), Matrix<Scalar>::Zero(heads, heads)};
    for (Index b = 0; b < scores.extent(0); ++b)
        for (Index g = 0; g < heads; ++g)
            for (Index h = 0; h < heads; ++h)
                grad.weight(g, h) += d_mixed.matrix(b * heads + g).cwiseProduct(scores.matrix(b * heads + h)).sum();
    return grad;
}

template <class Scalar>
MultiplyRowsGradients<Scalar> multiply_rows_backward(const RowVector<Scalar>& factors, const ConstView<Scalar>& x,
                                                     const ConstView<Scalar>& d_y) {
    check_shape("multiply_rows_backward", "factors", factors, 1, x.rows());
    check_shape("multiply_rows_backward", "d_y", d_y, x.rows(), x.cols());
    MultiplyRowsGradients<Scalar> grad{x.cwiseProduct(d_y).rowwise().sum().transpose(), d_y};
    multiply_rows<Scalar>(factors, grad.x);
    return grad;
}

template MixHeadsGradients<float> mix_heads_backward<float>(const Tensor<float>&, const Matrix<float>&,
                                                            const Tensor<float>&);
template MultiplyRowsGradients<float> multiply_rows_backward<float>(const RowVector<float>&, const ConstView<float>&,
                                                                    const ConstView<float>&);
template MixHeadsGradients<double> mix_heads_backward<double>(const Tensor<double>&, const Matrix<double>&,
                                                              const Tensor<double>&);
template MultiplyRowsGradients<double> multiply_rows_backward<double>(const RowVector<double>&,
                                                                      const ConstView<double>&,
                                                                      const ConstView<double>&);

}  // namespace locus

#include "core/models/block.h"

namespace locus {

template <class Scalar>
Tensor<Scalar> project_heads(const Tensor<Scalar>& x, const Dense<Scalar>& layer, Index heads,
                             const Operations<Scalar>& compute) {
    return split_heads(
        as_tensor<Scalar>({x.extent(0), x.extent(1), layer.weight.rows()}, compute.dense(x.rows(), layer)), heads);
}

template <class Scalar>
Tensor<Scalar> finish_layer(const Block<Scalar>& block, const Tensor<Scalar>& context, const Tensor<Scalar>& residual,
                            const std::string& prefix, Trace& trace, const Operations<Scalar>& compute) {
    const bool post = block.order == NormOrder::post;
    const Shape model = residual.shape(), inner = {model[0], model[1], block.up.weight.rows()};

    // attention = norm(residual + dense(context)); pre-norm leaves this sum as is.
    Matrix<Scalar> attention = compute.dense(context.rows(), block.out);
    compute.add(residual.rows(), attention);
    if (post) attention = compute.layer_norm(attention, block.attention_norm, block.eps);
    trace.add(prefix + ".attention", as_tensor<Scalar>(model, attention));
    if (trace.complete()) return {};

    // ffn = dense(activation(dense(x))), where x is attention, or its norm in pre-norm.
    const Matrix<Scalar> x = post ? attention : compute.layer_norm(attention, block.ffn_norm, block.eps);
    const Matrix<Scalar> ffn_act = compute.activate(compute.dense(x, block.up), block.activation);
    trace.add(prefix + ".ffn_act", as_tensor<Scalar>(inner, ffn_act));
    const Matrix<Scalar> ffn = compute.dense(ffn_act, block.down);
    trace.add(prefix + ".ffn", as_tensor<Scalar>(model, ffn));
    if (trace.complete()) return {};

    // output = norm(attention + ffn); in pre-norm the sum, which the next layer norms.
    Matrix<Scalar> sum = ffn;
    compute.add(attention, sum);
    if (post) sum = compute.layer_norm(sum, block.ffn_norm, block.eps);
    Tensor<Scalar> output = as_tensor<Scalar>(model, sum);
    trace.add(prefix + ".output", output);
    return output;
}

template Tensor<float> project_heads<float>(const Tensor<float>&, const Dense<float>&, Index, const Operations<float>&);
template Tensor<double> project_heads<double>(const Tensor<double>&, const Dense<double>&, Index,
                                              const Operations<double>&);
template Tensor<float> finish_layer<float>(const Block<float>&, const Tensor<float>&, const Tensor<float>&,
                                           const std::string&, Trace&, const Operations<float>&);
template Tensor<double> finish_layer<double>(const Block<double>&, const Tensor<double>&, const Tensor<double>&,
                                             const std::string&, Trace&, const Operations<double>&);

}  // namespace locus

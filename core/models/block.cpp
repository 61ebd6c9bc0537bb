#include "core/models/block.h"

namespace locus {

template <class Scalar>
Tensor<Scalar> as_tensor(Shape shape, const Matrix<Scalar>& rows) {
    Tensor<Scalar> tensor(std::move(shape));
    LOCUS_CHECK(tensor.size() == rows.size(), "as_tensor: " + std::to_string(rows.size()) +
                                                  " values do not fill the shape " + to_string(tensor.shape()));
    tensor.rows() = rows;
    return tensor;
}

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
    const Shape model = residual.shape();
    const auto keep = [&](const char* stem, Index width, const Matrix<Scalar>& rows) {
        if (trace.wants(prefix + stem)) trace.add(prefix + stem, as_tensor<Scalar>({model[0], model[1], width}, rows));
    };
    Matrix<Scalar> attention = compute.dense(context.rows(), block.out);
    compute.add(residual.rows(), attention);
    if (post) attention = compute.layer_norm(attention, block.attention_norm, block.eps);
    keep(".attention", model[2], attention);

    const Matrix<Scalar> inner = post ? attention : compute.layer_norm(attention, block.ffn_norm, block.eps);
    const Matrix<Scalar> ffn_act = compute.activate(compute.dense(inner, block.up), block.activation);
    keep(".ffn_act", ffn_act.cols(), ffn_act);
    const Matrix<Scalar> ffn = compute.dense(ffn_act, block.down);
    keep(".ffn", model[2], ffn);
    Matrix<Scalar> output = ffn;
    compute.add(attention, output);
    if (post) output = compute.layer_norm(output, block.ffn_norm, block.eps);
    keep(".output", model[2], output);
    return as_tensor<Scalar>(model, output);
}

template Tensor<float> as_tensor<float>(Shape, const Matrix<float>&);
template Tensor<double> as_tensor<double>(Shape, const Matrix<double>&);
template Tensor<float> project_heads<float>(const Tensor<float>&, const Dense<float>&, Index, const Operations<float>&);
template Tensor<double> project_heads<double>(const Tensor<double>&, const Dense<double>&, Index,
                                              const Operations<double>&);
template Tensor<float> finish_layer<float>(const Block<float>&, const Tensor<float>&, const Tensor<float>&,
                                           const std::string&, Trace&, const Operations<float>&);
template Tensor<double> finish_layer<double>(const Block<double>&, const Tensor<double>&, const Tensor<double>&,
                                             const std::string&, Trace&, const Operations<double>&);

}  // namespace locus

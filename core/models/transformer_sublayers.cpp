#include "core/models/transformer_sublayers.h"

#include <cmath>

#include "core/attention/products.h"
#include "core/models/block.h"

namespace locus {

template <class Scalar>
MultiHeadResult<Scalar> multi_head_attention(const Tensor<Scalar>& x, const Tensor<Scalar>& memory,
                                             const MultiHeadWeights<Scalar>& weights, Index heads,
                                             const std::vector<Mask>& masks, double eps) {
    MultiHeadResult<Scalar> result;
    result.q = project_heads(x, weights.query, heads);
    result.k = project_heads(memory, weights.key, heads);
    result.v = project_heads(memory, weights.value, heads);
    const Index batch = x.extent(0);
    result.scores = Tensor<Scalar>({batch, heads, x.extent(1), memory.extent(1)});
    result.probs = Tensor<Scalar>(result.scores.shape());
    Tensor<Scalar> context(result.q.shape());
    for (Index at = 0; at < batch * heads; ++at) {
        result.scores.matrix(at) =
            products_of_rows<Scalar>(result.q.matrix(at), result.k.matrix(at)) / std::sqrt(Scalar(result.q.extent(3)));
        result.probs.matrix(at) =
            masked_softmax<Scalar>(result.scores.matrix(at), masks[static_cast<std::size_t>(at / heads)]);
        context.matrix(at) = result.probs.matrix(at) * result.v.matrix(at);
    }
    result.context = join_heads(context);
    const Matrix<Scalar> summed = dense<Scalar>(result.context.rows(), weights.out) + x.rows();
    result.output = as_tensor<Scalar>(x.shape(), layer_norm<Scalar>(summed, weights.norm, eps));
    return result;
}

template <class Scalar>
FeedForwardResult<Scalar> feed_forward(const Tensor<Scalar>& x, const FeedForwardWeights<Scalar>& weights, double eps) {
    const Matrix<Scalar> act = activate<Scalar>(dense<Scalar>(x.rows(), weights.up), Activation::relu);
    const Matrix<Scalar> ffn = dense<Scalar>(act, weights.down);
    const Matrix<Scalar> output = layer_norm<Scalar>(ffn + x.rows(), weights.norm, eps);
    return {as_tensor<Scalar>({x.extent(0), x.extent(1), act.cols()}, act), as_tensor<Scalar>(x.shape(), ffn),
            as_tensor<Scalar>(x.shape(), output)};
}

template <class Scalar>
void keep_attention(const MultiHeadResult<Scalar>& result, const std::string& prefix, Trace& trace) {
    trace.add(prefix + ".q", result.q);
    trace.add(prefix + ".k", result.k);
    trace.add(prefix + ".v", result.v);
    trace.add(prefix + ".scores", result.scores);
    trace.add(prefix + ".probs", result.probs);
    trace.add(prefix + ".context", result.context);
    trace.add(prefix + ".attention", result.output);
}

template <class Scalar>
void keep_feed_forward(const FeedForwardResult<Scalar>& result, const std::string& prefix, Trace& trace) {
    trace.add(prefix + ".ffn_act", result.act);
    trace.add(prefix + ".ffn", result.ffn);
    trace.add(prefix + ".output", result.output);
}

template MultiHeadResult<float> multi_head_attention<float>(const Tensor<float>&, const Tensor<float>&,
                                                            const MultiHeadWeights<float>&, Index,
                                                            const std::vector<Mask>&, double);
template FeedForwardResult<float> feed_forward<float>(const Tensor<float>&, const FeedForwardWeights<float>&, double);
template void keep_attention<float>(const MultiHeadResult<float>&, const std::string&, Trace&);
template void keep_feed_forward<float>(const FeedForwardResult<float>&, const std::string&, Trace&);
template MultiHeadResult<double> multi_head_attention<double>(const Tensor<double>&, const Tensor<double>&,
                                                              const MultiHeadWeights<double>&, Index,
                                                              const std::vector<Mask>&, double);
template FeedForwardResult<double> feed_forward<double>(const Tensor<double>&, const FeedForwardWeights<double>&,
                                                        double);
template void keep_attention<double>(const MultiHeadResult<double>&, const std::string&, Trace&);
template void keep_feed_forward<double>(const FeedForwardResult<double>&, const std::string&, Trace&);

}  // namespace locus

#include "core/positions/fire.h"

namespace locus {

namespace {

template <class Scalar>
void check_weights(const char* who, const FireWeights<Scalar>& weights) {
    const Index width = weights.in_weight.size(), heads = weights.out_weight.rows();
    LOCUS_CHECK(weights.c > 0 && weights.threshold > 0 && std::isfinite(weights.c) && std::isfinite(weights.threshold),
                std::string(who) + ": c is " + std::to_string(weights.c) + " and L " +
                    std::to_string(weights.threshold) + ", expected numbers above 0");
    LOCUS_CHECK(width >= 1 && heads >= 1, std::string(who) + ": a hidden layer of " + std::to_string(width) + " and " +
                                              std::to_string(heads) + " heads, expected 1 or more of each");
    check_shape(who, "in_bias", weights.in_bias, 1, width);
    check_shape(who, "out_weight", weights.out_weight, heads, width);
    check_shape(who, "out_bias", weights.out_bias, 1, heads);
}

}  // namespace

template <class Scalar>
FireTerms<Scalar> fire_bias(const FireWeights<Scalar>& weights, Index tokens) {
    check_weights("fire_bias", weights);
    LOCUS_CHECK(tokens >= 1, "fire_bias: " + std::to_string(tokens) + " tokens, expected 1 or more");
    const Index heads = weights.out_weight.rows();
    FireTerms<Scalar> terms{Matrix<Scalar>::Zero(tokens, tokens), Tensor<Scalar>({heads, tokens, tokens})};
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j <= i; ++j) {
            terms.ratio(i, j) = fire_ratio(weights.c, weights.threshold, i, j);
            // The network is the same for every pair; its outputs are the heads.
            const RowVector<Scalar> hidden =
                (weights.in_weight * terms.ratio(i, j) + weights.in_bias).cwiseMax(Scalar(0));
            for (Index h = 0; h < heads; ++h)
                terms.bias.matrix(h)(i, j) = weights.out_weight.row(h).dot(hidden) + weights.out_bias[h];
        }
    return terms;
}

template <class Scalar>
void FireTerms<Scalar>::add_to(Trace& trace) const {
    trace.add<Scalar>("relative.ratio", Tensor<Scalar>({ratio.rows(), ratio.cols()},
                                                       std::vector<Scalar>(ratio.data(), ratio.data() + ratio.size())));
    trace.add<Scalar>("relative.bias", bias);
}

template <class Scalar>
FireWeights<Scalar> fire_bias_backward(const FireWeights<Scalar>& weights, const FireTerms<Scalar>& terms,
                                       const Tensor<Scalar>& d_bias) {
    check_weights("fire_bias_backward", weights);
    const Index heads = weights.out_weight.rows(), width = weights.in_weight.size(), tokens = terms.ratio.rows();
    LOCUS_CHECK(d_bias.shape() == terms.bias.shape(), "fire_bias_backward: the gradient of the bias is " +
                                                          to_string(d_bias.shape()) + ", expected " +
                                                          to_string(terms.bias.shape()));
    FireWeights<Scalar> grad{0,
                             0,
                             RowVector<Scalar>::Zero(width),
                             RowVector<Scalar>::Zero(width),
                             Matrix<Scalar>::Zero(heads, width),
                             RowVector<Scalar>::Zero(heads)};
    RowVector<Scalar> d_heads(heads);
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j <= i; ++j) {
            for (Index h = 0; h < heads; ++h) d_heads[h] = d_bias.matrix(h)(i, j);
            // The network: out layer, ReLU, in layer.
            const Scalar ratio = terms.ratio(i, j);
            const RowVector<Scalar> x = weights.in_weight * ratio + weights.in_bias;
            grad.out_weight += d_heads.transpose() * x.cwiseMax(Scalar(0));
            grad.out_bias += d_heads;
            const RowVector<Scalar> d_x =
                (x.array() > 0).select((d_heads * weights.out_weight).array(), Scalar(0)).matrix();
            grad.in_weight += d_x * ratio;
            grad.in_bias += d_x;
            // ratio = a / n with a = ln(c (i - j) + 1) and n = ln(c m + 1), m = max(L, i).
            const Scalar d_ratio = d_x.dot(weights.in_weight), m = std::max(weights.threshold, Scalar(i)),
                         n = std::log(weights.c * m + 1);
            const Scalar r = Scalar(i - j), a_by_c = r / (weights.c * r + 1), n_by_c = m / (weights.c * m + 1);
            grad.c += d_ratio * (a_by_c - ratio * n_by_c) / n;
            if (weights.threshold > Scalar(i)) grad.threshold -= d_ratio * ratio / n * weights.c / (weights.c * m + 1);
        }
    return grad;
}

template struct FireTerms<float>;
template struct FireTerms<double>;
template FireTerms<float> fire_bias<float>(const FireWeights<float>&, Index);
template FireTerms<double> fire_bias<double>(const FireWeights<double>&, Index);
template FireWeights<float> fire_bias_backward<float>(const FireWeights<float>&, const FireTerms<float>&,
                                                      const Tensor<float>&);
template FireWeights<double> fire_bias_backward<double>(const FireWeights<double>&, const FireTerms<double>&,
                                                        const Tensor<double>&);

}  // namespace locus

#include "core/attention/biased.h"

#include <cmath>

#include "core/attention/scaled_dot_product.h"
#include "core/products.h"

namespace locus {

template <class Scalar>
BiasedTerms<Scalar> biased_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                     const ConstView<Scalar>& bias, ContentScale scale, const Mask& mask) {
    check_shape("biased_attention", "the bias", bias, q.rows(), k.rows());
    LOCUS_CHECK(k.rows() == v.rows(), "biased_attention: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
    BiasedTerms<Scalar> terms;
    terms.content = products_of_rows<Scalar>(q, k);
    terms.bias = bias;
    // Only the content is divided: the bias has no width over which its variance would grow.
    terms.scores = terms.content;
    if (scale == ContentScale::inverse_root) terms.scores /= std::sqrt(Scalar(q.cols()));
    terms.scores += bias;
    terms.probs = masked_softmax<Scalar>(terms.scores, mask);
    terms.context = times<Scalar>(terms.probs, v);
    return terms;
}

template <class Scalar>
BiasedTerms<Scalar> biased_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                     const OffsetBias<Scalar>& bias, Index head, ContentScale scale, const Mask& mask) {
    LOCUS_CHECK(bias.queries == q.rows() && bias.keys == k.rows(),
                "biased_attention: a bias for " + std::to_string(bias.queries) + " x " + std::to_string(bias.keys) +
                    " pairs, expected " + std::to_string(q.rows()) + " queries x " + std::to_string(k.rows()) +
                    " keys");
    return biased_attention<Scalar>(q, k, v, bias.matrix(head), scale, mask);
}

template <class Scalar>
BiasedGradients<Scalar> biased_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const ConstView<Scalar>& v, ContentScale scale, const ConstView<Scalar>& probs,
                                        const ConstView<Scalar>& keep, const ConstView<Scalar>& d_context) {
    const Scalar divisor = scale == ContentScale::inverse_root ? std::sqrt(Scalar(q.cols())) : Scalar(1);
    DotProductGradients<Scalar> grad = dot_product_backward<Scalar>(q, k, v, probs, keep, divisor, d_context);
    return {std::move(grad.q), std::move(grad.k), std::move(grad.v), std::move(grad.scores)};
}

template BiasedTerms<float> biased_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                                    const ConstView<float>&, const ConstView<float>&, ContentScale,
                                                    const Mask&);
template BiasedTerms<double> biased_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                      const ConstView<double>&, const ConstView<double>&, ContentScale,
                                                      const Mask&);
template BiasedTerms<float> biased_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                                    const ConstView<float>&, const OffsetBias<float>&, Index,
                                                    ContentScale, const Mask&);
template BiasedTerms<double> biased_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                      const ConstView<double>&, const OffsetBias<double>&, Index,
                                                      ContentScale, const Mask&);
template BiasedGradients<float> biased_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                       const ConstView<float>&, ContentScale, const ConstView<float>&,
                                                       const ConstView<float>&, const ConstView<float>&);
template BiasedGradients<double> biased_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                         const ConstView<double>&, ContentScale,
                                                         const ConstView<double>&, const ConstView<double>&,
                                                         const ConstView<double>&);

}  // namespace locus

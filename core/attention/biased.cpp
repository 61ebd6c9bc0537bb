#include "core/attention/biased.h"

#include <cmath>

#include "core/attention/products.h"

namespace locus {

template <class Scalar>
BiasedTerms<Scalar> biased_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                     const OffsetBias<Scalar>& line, Index head, ContentScale scale, const Mask& mask) {
    LOCUS_CHECK(line.queries == q.rows() && line.keys == k.rows(),
                "biased_attention: a line for " + std::to_string(line.queries) + " x " + std::to_string(line.keys) +
                    " pairs, expected " + std::to_string(q.rows()) + " queries x " + std::to_string(k.rows()) +
                    " keys");
    LOCUS_CHECK(k.rows() == v.rows(), "biased_attention: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
    BiasedTerms<Scalar> terms;
    terms.content = products_of_rows<Scalar>(q, k);
    terms.bias = line.matrix(head);
    terms.scores = terms.content;
    if (scale == ContentScale::inverse_root) terms.scores /= std::sqrt(Scalar(q.cols()));
    terms.scores += terms.bias;
    terms.probs = masked_softmax<Scalar>(terms.scores, mask);
    terms.context = terms.probs * v;
    return terms;
}

template BiasedTerms<float> biased_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                                    const ConstView<float>&, const OffsetBias<float>&, Index,
                                                    ContentScale, const Mask&);
template BiasedTerms<double> biased_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                      const ConstView<double>&, const OffsetBias<double>&, Index,
                                                      ContentScale, const Mask&);

}  // namespace locus

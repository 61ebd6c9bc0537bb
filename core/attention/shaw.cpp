#include "core/attention/shaw.h"

#include <cmath>

#include "core/attention/products.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> shaw_position_scores(const ConstView<Scalar>& q, const ConstView<Scalar>& a_k, Index keys) {
    const Index span = shaw_span("shaw_attention: a_k", a_k.rows());
    LOCUS_CHECK(q.cols() == a_k.cols(), "shaw_attention: q is " + std::to_string(q.cols()) + " wide and a_k " +
                                            std::to_string(a_k.cols()) + ", expected the same width");
    const Matrix<Scalar> table = products_of_rows<Scalar>(q, a_k);
    Matrix<Scalar> scores(q.rows(), keys);
    for (Index i = 0; i < scores.rows(); ++i)
        for (Index j = 0; j < keys; ++j) scores(i, j) = table(i, shaw_row(j - i, span));
    return scores;
}

template <class Scalar>
Matrix<Scalar> shaw_position_context(const ConstView<Scalar>& probs, const ConstView<Scalar>& a_v) {
    const Index span = shaw_span("shaw_attention: a_v", a_v.rows());
    Matrix<Scalar> by_row = Matrix<Scalar>::Zero(probs.rows(), a_v.rows());
    for (Index i = 0; i < probs.rows(); ++i)
        for (Index j = 0; j < probs.cols(); ++j) by_row(i, shaw_row(j - i, span)) += probs(i, j);
    return by_row * a_v;
}

template <class Scalar>
ShawTerms<Scalar> shaw_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                 const ConstView<Scalar>& a_k, const ConstView<Scalar>& a_v, const Mask& mask) {
    LOCUS_CHECK(k.rows() == v.rows(), "shaw_attention: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
    LOCUS_CHECK(a_k.rows() == a_v.rows() && a_v.cols() == v.cols(),
                "shaw_attention: a_v is [" + std::to_string(a_v.rows()) + ", " + std::to_string(a_v.cols()) +
                    "], expected [" + std::to_string(a_k.rows()) + ", " + std::to_string(v.cols()) +
                    "]: the rows of a_k and the width of v");
    ShawTerms<Scalar> terms;
    terms.content_scores = products_of_rows<Scalar>(q, k);
    terms.position_scores = shaw_position_scores<Scalar>(q, a_k, k.rows());
    terms.scores = (terms.content_scores + terms.position_scores) / std::sqrt(Scalar(q.cols()));
    terms.probs = masked_softmax<Scalar>(terms.scores, mask);
    terms.content_context = terms.probs * v;
    terms.position_context = shaw_position_context<Scalar>(terms.probs, a_v);
    terms.context = terms.content_context + terms.position_context;
    return terms;
}

template Matrix<float> shaw_position_scores<float>(const ConstView<float>&, const ConstView<float>&, Index);
template Matrix<float> shaw_position_context<float>(const ConstView<float>&, const ConstView<float>&);
template ShawTerms<float> shaw_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                                const ConstView<float>&, const ConstView<float>&,
                                                const ConstView<float>&, const Mask&);
template Matrix<double> shaw_position_scores<double>(const ConstView<double>&, const ConstView<double>&, Index);
template Matrix<double> shaw_position_context<double>(const ConstView<double>&, const ConstView<double>&);
template ShawTerms<double> shaw_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                  const ConstView<double>&, const ConstView<double>&,
                                                  const ConstView<double>&, const Mask&);

}  // namespace locus

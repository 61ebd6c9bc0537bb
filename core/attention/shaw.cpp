#include "core/attention/shaw.h"

#include <algorithm>
#include <cmath>

#include "core/attention/softmax.h"
#include "core/products.h"
#include "core/tensor.h"

namespace locus {

Index shaw_row(std::int64_t offset, Index span) {
    LOCUS_CHECK(span >= 0, "shaw_row: span is " + std::to_string(span) + ", expected 0 or more");
    return std::clamp<std::int64_t>(offset, -span, span) + span;
}

IndexTensor shaw_index(Index queries, Index keys, Index span) {
    LOCUS_CHECK(queries >= 1 && keys >= 1, "shaw_index: queries is " + std::to_string(queries) + " and keys " +
                                               std::to_string(keys) + ", expected 1 or more of each");
    IndexTensor index({queries, keys});
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) index[i * keys + j] = shaw_row(j - i, span);
    return index;
}

Index shaw_span(const char* what, Index rows) {
    LOCUS_CHECK(rows % 2 == 1, std::string(what) + " has " + std::to_string(rows) +
                                   " rows, expected an odd number: 2k + 1 for the offsets -k to k");
    return (rows - 1) / 2;
}

namespace {

/// by_row[i, row(j - i)] += pairs[i,j]: what belongs to the pairs of query i, added up by table row.  -> [Tq,2k+1]
template <class Scalar>
Matrix<Scalar> sum_by_row(const ConstView<Scalar>& pairs, Index span) {
    Matrix<Scalar> by_row = Matrix<Scalar>::Zero(pairs.rows(), 2 * span + 1);
    for (Index i = 0; i < pairs.rows(); ++i)
        for (Index j = 0; j < pairs.cols(); ++j) by_row(i, shaw_row(j - i, span)) += pairs(i, j);
    return by_row;
}

}  // namespace

template <class Scalar>
Matrix<Scalar> shaw_position_scores(const ConstView<Scalar>& q, const ConstView<Scalar>& a_k, Index keys) {
    const Index span = shaw_span("shaw_attention: a_k", a_k.rows());
    LOCUS_CHECK(q.cols() == a_k.cols(), "shaw_attention: q is " + std::to_string(q.cols()) + " wide and a_k " +
                                            std::to_string(a_k.cols()) + ", expected the same width");
    // Every query against every row of the table once; each pair reads the product that its offset selects.
    const Matrix<Scalar> table = products_of_rows<Scalar>(q, a_k);
    Matrix<Scalar> scores(q.rows(), keys);
    for (Index i = 0; i < scores.rows(); ++i)
        for (Index j = 0; j < keys; ++j) scores(i, j) = table(i, shaw_row(j - i, span));
    return scores;
}

template <class Scalar>
Matrix<Scalar> shaw_position_context(const ConstView<Scalar>& probs, const ConstView<Scalar>& a_v) {
    const Index span = shaw_span("shaw_attention: a_v", a_v.rows());
    return times<Scalar>(sum_by_row<Scalar>(probs, span), a_v);
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
    terms.content_context = times<Scalar>(terms.probs, v);
    terms.position_context = shaw_position_context<Scalar>(terms.probs, a_v);
    terms.context = terms.content_context + terms.position_context;
    return terms;
}

namespace {

template <class Scalar>
void check_operands(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                    const ConstView<Scalar>& a_k, const ConstView<Scalar>& a_v, const ConstView<Scalar>& probs,
                    const ConstView<Scalar>& keep, const ConstView<Scalar>& d_context) {
    constexpr const char* kName = "shaw_backward";
    check_shape(kName, "k", k, k.rows(), q.cols());
    check_shape(kName, "v", v, k.rows(), v.cols());
    check_shape(kName, "a_k", a_k, a_k.rows(), q.cols());
    check_shape(kName, "a_v", a_v, a_k.rows(), v.cols());
    check_shape(kName, "probs", probs, q.rows(), k.rows());
    check_shape(kName, "the gradient of the context", d_context, q.rows(), v.cols());
    if (keep.size() > 0) check_shape(kName, "keep", keep, q.rows(), k.rows());
}

}  // namespace

template <class Scalar>
ShawGradients<Scalar> shaw_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                    const ConstView<Scalar>& a_k, const ConstView<Scalar>& a_v,
                                    const ConstView<Scalar>& probs, const ConstView<Scalar>& keep,
                                    const ConstView<Scalar>& d_context) {
    check_operands<Scalar>(q, k, v, a_k, a_v, probs, keep, d_context);
    const Index span = shaw_span("shaw_backward: a_k", a_k.rows());
    // Values and a_v: the probability of (i,j) multiplied v_j + a_v[row], so its gradient is d_context_i . (v_j +
    // a_v[row]).
    Matrix<Scalar> dropped = probs, d_probs = times_transposed<Scalar>(d_context, v);
    d_probs += shaw_position_scores<Scalar>(d_context, a_v, k.rows());
    if (keep.size() > 0) {
        dropped.array() *= keep.array();
        d_probs.array() *= keep.array();
    }
    ShawGradients<Scalar> grad;
    grad.v = transposed_times<Scalar>(dropped, d_context);
    grad.a_v = transposed_times<Scalar>(sum_by_row<Scalar>(dropped, span), d_context);

    // Queries, keys and a_k: the score of (i,j) is q_i . (k_j + a_k[row]) / sqrt(d).
    grad.scores = softmax_backward<Scalar>(probs, d_probs) / std::sqrt(Scalar(q.cols()));
    const Matrix<Scalar> by_row = sum_by_row<Scalar>(grad.scores, span);
    grad.q = times<Scalar>(grad.scores, k) + times<Scalar>(by_row, a_k);
    grad.k = transposed_times<Scalar>(grad.scores, q);
    grad.a_k = transposed_times<Scalar>(by_row, q);
    return grad;
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
template ShawGradients<float> shaw_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                   const ConstView<float>&, const ConstView<float>&,
                                                   const ConstView<float>&, const ConstView<float>&,
                                                   const ConstView<float>&, const ConstView<float>&);
template ShawGradients<double> shaw_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                     const ConstView<double>&, const ConstView<double>&,
                                                     const ConstView<double>&, const ConstView<double>&,
                                                     const ConstView<double>&, const ConstView<double>&);

}  // namespace locus

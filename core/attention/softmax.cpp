#include "core/attention/softmax.h"

#include <cmath>
#include <limits>

#include "core/products.h"

namespace locus {

namespace {

/// Softmax of one row over the keys for which shows(j) holds; false if there is none.
template <class Scalar, class Shows>
bool softmax_row(const Scalar* scores_i, Index keys, Shows shows, Scalar* probs_i) {
    // Step 1: the largest visible score, which is subtracted so that exp cannot overflow.
    Scalar maximum = -std::numeric_limits<Scalar>::infinity();
    bool any = false;
    for (Index j = 0; j < keys; ++j)
        if (shows(j)) {
            any = true;
            // Written so that a NaN score is never skipped: its exponential makes the whole row NaN.
            if (!(scores_i[j] <= maximum)) maximum = scores_i[j];
        }
    if (!any) return false;
    // Step 2: exponentials and their sum, key after key.
    Scalar denominator = 0;
    for (Index j = 0; j < keys; ++j) {
        probs_i[j] = shows(j) ? std::exp(scores_i[j] - maximum) : Scalar(0);
        denominator += probs_i[j];
    }
    // Step 3: division.
    for (Index j = 0; j < keys; ++j) probs_i[j] /= denominator;
    return true;
}

}  // namespace

template <class Scalar>
Matrix<Scalar> masked_softmax(const ConstView<Scalar>& scores, const Mask& mask, MaskedRow masked_row) {
    const Index queries = scores.rows(), keys = scores.cols();
    LOCUS_CHECK(mask.size() == 0 || (mask.rows() == queries && mask.cols() == keys),
                "masked_softmax: a mask of [" + std::to_string(mask.rows()) + ", " + std::to_string(mask.cols()) +
                    "] for scores of [" + std::to_string(queries) + ", " + std::to_string(keys) +
                    "], expected the same");
    Matrix<Scalar> probs(queries, keys);
    for (Index i = 0; i < queries; ++i) {
        const auto shows = [&](Index j) { return mask.size() == 0 || mask(i, j) != 0; };
        if (!softmax_row<Scalar>(scores.row(i).data(), keys, shows, probs.row(i).data()))
            probs.row(i).setConstant(masked_row == MaskedRow::zero ? Scalar(0) : Scalar(1) / Scalar(keys));
    }
    return probs;
}

template <class Scalar>
Matrix<Scalar> softmax_backward(const ConstView<Scalar>& probs, const ConstView<Scalar>& d_probs) {
    check_shape("softmax_backward", "d_probs", d_probs, probs.rows(), probs.cols());
    // The part of d_probs that would move all probabilities of a row together; they must go on summing to 1.
    const Matrix<Scalar> together = (probs.array() * d_probs.array()).rowwise().sum();
    return probs.array() * (d_probs.array().colwise() - together.array().col(0));
}

template <class Scalar>
ContextGradients<Scalar> context_backward(const ConstView<Scalar>& probs, const ConstView<Scalar>& keep,
                                          const ConstView<Scalar>& v, const ConstView<Scalar>& d_context) {
    check_shape("context_backward", "v", v, probs.cols(), v.cols());
    check_shape("context_backward", "the gradient of the context", d_context, probs.rows(), v.cols());
    Matrix<Scalar> dropped = probs, d_probs = times_transposed<Scalar>(d_context, v);
    // Dropout multiplied the probabilities on their way to the values, so it multiplies their gradient too.
    if (keep.size() > 0) {
        check_shape("context_backward", "keep", keep, probs.rows(), probs.cols());
        dropped.array() *= keep.array();
        d_probs.array() *= keep.array();
    }
    return {transposed_times<Scalar>(dropped, d_context), softmax_backward<Scalar>(probs, d_probs)};
}

template <class Scalar>
SoftmaxSteps<Scalar> explain_softmax(const std::vector<Scalar>& scores, const Mask& mask, Index i, Index j,
                                     MaskedRow masked_row) {
    const auto keys = static_cast<Index>(scores.size());
    LOCUS_CHECK(j >= 0 && j < keys,
                "explain_softmax: key " + std::to_string(j) + ", expected 0 to " + std::to_string(keys - 1));
    LOCUS_CHECK(mask.size() == 0 || (i >= 0 && i < mask.rows() && mask.cols() == keys),
                "explain_softmax: row " + std::to_string(i) + " of " + std::to_string(keys) + " keys in a mask of [" +
                    std::to_string(mask.rows()) + ", " + std::to_string(mask.cols()) + "]");
    const auto score = [&](Index key) { return scores[static_cast<std::size_t>(key)]; };
    const auto visible = [&](Index key) { return mask.size() == 0 || mask(i, key) != 0; };
    SoftmaxSteps<Scalar> steps;
    steps.visible = visible(j);
    steps.sees_nothing = true;
    // The three steps of softmax_row, in the same order, so that every number has the same bits.
    steps.row_maximum = -std::numeric_limits<Scalar>::infinity();
    for (Index key = 0; key < keys; ++key) {
        if (!visible(key)) continue;
        steps.sees_nothing = false;
        if (score(key) <= steps.row_maximum) continue;
        steps.row_maximum = score(key);
        steps.row_maximum_key = key;
    }
    for (Index key = 0; key < keys; ++key)
        steps.denominator += visible(key) ? std::exp(score(key) - steps.row_maximum) : Scalar(0);
    if (steps.sees_nothing) {
        steps.probability = masked_row == MaskedRow::zero ? Scalar(0) : Scalar(1) / Scalar(keys);
        return steps;
    }
    if (!steps.visible) return steps;
    steps.shifted = score(j) - steps.row_maximum;
    steps.exponential = std::exp(steps.shifted);
    steps.probability = steps.exponential / steps.denominator;
    return steps;
}

template Matrix<float> masked_softmax<float>(const ConstView<float>&, const Mask&, MaskedRow);
template Matrix<double> masked_softmax<double>(const ConstView<double>&, const Mask&, MaskedRow);
template Matrix<float> softmax_backward<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<double> softmax_backward<double>(const ConstView<double>&, const ConstView<double>&);
template ContextGradients<float> context_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                         const ConstView<float>&, const ConstView<float>&);
template ContextGradients<double> context_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                           const ConstView<double>&, const ConstView<double>&);
template SoftmaxSteps<float> explain_softmax<float>(const std::vector<float>&, const Mask&, Index, Index, MaskedRow);
template SoftmaxSteps<double> explain_softmax<double>(const std::vector<double>&, const Mask&, Index, Index, MaskedRow);

}  // namespace locus

#include "core/attention/softmax.h"

#include <cmath>
#include <limits>

namespace locus {

namespace {

/// Softmax of one row over the keys for which shows(j) holds; false if there is none.
template <class Scalar, class Shows>
bool softmax_row(const Scalar* scores_i, Index keys, Shows shows, Scalar* probs_i) {
    Scalar maximum = -std::numeric_limits<Scalar>::infinity();
    bool any = false;
    for (Index j = 0; j < keys; ++j)
        if (shows(j)) {
            any = true;
            // Written so that a NaN score becomes the maximum and shows in the whole row instead of vanishing.
            if (!(scores_i[j] <= maximum)) maximum = scores_i[j];
        }
    if (!any) return false;
    Scalar denominator = 0;
    for (Index j = 0; j < keys; ++j) {
        probs_i[j] = shows(j) ? std::exp(scores_i[j] - maximum) : Scalar(0);
        denominator += probs_i[j];
    }
    for (Index j = 0; j < keys; ++j) probs_i[j] /= denominator;
    return true;
}

}  // namespace

template <class Scalar>
Matrix<Scalar> masked_softmax(const ConstView<Scalar>& scores, const Mask& mask, MaskedRow masked_row) {
    const Index queries = scores.rows(), keys = scores.cols();
    LOCUS_CHECK(mask.size() == 0 || (mask.rows() == queries && mask.cols() == keys),
                "masked_softmax: a mask of [" + std::to_string(mask.rows()) + ", " + std::to_string(mask.cols()) +
                    "] for scores of [" + std::to_string(queries) + ", " + std::to_string(keys) + "]");
    Matrix<Scalar> probs(queries, keys);
    for (Index i = 0; i < queries; ++i) {
        const auto shows = [&](Index j) { return mask.size() == 0 || mask(i, j) != 0; };
        if (!softmax_row<Scalar>(scores.row(i).data(), keys, shows, probs.row(i).data()))
            probs.row(i).setConstant(masked_row == MaskedRow::zero ? Scalar(0) : Scalar(1) / Scalar(keys));
    }
    return probs;
}

template Matrix<float> masked_softmax<float>(const ConstView<float>&, const Mask&, MaskedRow);
template Matrix<double> masked_softmax<double>(const ConstView<double>&, const Mask&, MaskedRow);

}  // namespace locus

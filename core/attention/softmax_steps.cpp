#include "core/attention/softmax_steps.h"

#include <cmath>
#include <limits>

namespace locus {

template <class Scalar>
SoftmaxSteps<Scalar> explain_softmax(const std::vector<Scalar>& scores, const Mask& mask, Index i, Index j) {
    const auto keys = static_cast<Index>(scores.size());
    LOCUS_CHECK(j >= 0 && j < keys,
                "explain_softmax: key " + std::to_string(j) + ", expected 0 to " + std::to_string(keys - 1));
    LOCUS_CHECK(mask.size() == 0 || (i >= 0 && i < mask.rows() && mask.cols() == keys),
                "explain_softmax: row " + std::to_string(i) + " of " + std::to_string(keys) + " keys in a mask of [" +
                    std::to_string(mask.rows()) + ", " + std::to_string(mask.cols()) + "]");
    const auto visible = [&](Index key) { return mask.size() == 0 || mask(i, key) != 0; };
    SoftmaxSteps<Scalar> steps;
    steps.visible = visible(j);
    steps.row_maximum = -std::numeric_limits<Scalar>::infinity();
    for (Index key = 0; key < keys; ++key) {
        const Scalar score = scores[static_cast<std::size_t>(key)];
        if (!visible(key) || score <= steps.row_maximum) continue;
        steps.row_maximum = score;
        steps.row_maximum_key = key;
    }
    for (Index key = 0; key < keys; ++key)
        steps.denominator +=
            visible(key) ? std::exp(scores[static_cast<std::size_t>(key)] - steps.row_maximum) : Scalar(0);
    if (!steps.visible) return steps;
    steps.shifted = scores[static_cast<std::size_t>(j)] - steps.row_maximum;
    steps.exponential = std::exp(steps.shifted);
    steps.probability = steps.exponential / steps.denominator;
    return steps;
}

template SoftmaxSteps<float> explain_softmax<float>(const std::vector<float>&, const Mask&, Index, Index);
template SoftmaxSteps<double> explain_softmax<double>(const std::vector<double>&, const Mask&, Index, Index);

}  // namespace locus

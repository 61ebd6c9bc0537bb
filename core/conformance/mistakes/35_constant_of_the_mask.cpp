#include <cmath>
#include <limits>

#include "core/conformance/diagnosis/wrong_masks.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

constexpr double kWeakest = -3;  // a smaller constant is no attempt to hide, but a mask of 0 and 1: mistake 31

using MaskOf = Mask (*)(const Replay&, Index b, Index h);

/// softmax(scores + constant where hidden).
Matrix<double> weakly_masked(const Matrix<double>& scores, const Mask& mask, double constant) {
    Matrix<double> sum = scores;
    for (Index n = 0; mask.size() > 0 && n < sum.size(); ++n)
        if (mask.data()[n] == 0) sum.data()[n] += constant;
    return plain_softmax(sum);
}

Variant exactly(const char* how, MaskOf mask_of, double constant) {
    return {how, {probs_by([=](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                return weakly_masked(scores, mask_of(at, b, h), constant);
            })}};
}

/// float32 keeps three digits of a score behind -1e4.
Variant in_float32(const char* how, MaskOf mask_of) {
    return {how, {probs_by([=](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = mask_of(at, b, h);
                Matrix<double> sum = scores;
                for (Index n = 0; mask.size() > 0 && n < sum.size(); ++n)
                    if (mask.data()[n] == 0)
                        sum.data()[n] = static_cast<double>(static_cast<float>(sum.data()[n]) - 1e4f);
                return plain_softmax(sum);
            })}};
}

/// The constant that the candidate's own leaks betray: ln(P_hidden / P_visible) - (S_hidden - S_visible).
double leaked_constant(const Replay& at, MaskOf mask_of) {
    const auto probs = at.found("probs");
    if (!probs) throw NotEnough{"probs"};
    const Tensor<double> scores = softmax_input(at);
    if (scores.shape() != probs->shape()) throw NotEnough{"probs of the right shape"};
    double largest = 0, constant = 0;
    for (Index n = 0; n < scores.extent(0) * scores.extent(1); ++n) {
        const Mask mask = mask_of(at, n / scores.extent(1), n % scores.extent(1));
        const auto p = probs->matrix(n), s = scores.matrix(n);
        for (Index i = 0; i < mask.rows(); ++i) {
            Index seen = 0;
            if (mask.row(i).maxCoeff(&seen) == 0) continue;
            for (Index j = 0; j < mask.cols(); ++j)
                if (mask(i, j) == 0 && p(i, j) > largest && p(i, seen) > 0) {
                    largest = p(i, j);
                    constant = std::log(p(i, j) / p(i, seen)) - (s(i, j) - s(i, seen));
                }
        }
    }
    if (largest <= 0 || !(constant < kWeakest)) throw NotEnough{"a leak"};
    return constant;
}

Variant leaking(const char* how, MaskOf mask_of) {
    return {how, {{"probs", {"scores", "scores_mixed"}, [=](const Replay& at) {
                       const double constant = leaked_constant(at, mask_of);
                       const Tensor<double> scores = softmax_input(at);
                       return each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index h, Index b) {
                           return weakly_masked(scores.matrix(n), mask_of(at, b, h), constant);
                       });
                   }}}};
}

Variant not_a_number() {
    return {"-1e30 is -inf in float16, and -inf - -inf is NaN",
            {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = visible_pairs(at, b, h);
                Matrix<double> probs = masked_softmax<double>(scores, mask);
                for (Index i = 0; i < probs.rows(); ++i)
                    if (hides_all(mask, i)) probs.row(i).setConstant(std::numeric_limits<double>::quiet_NaN());
                return probs;
            })}};
}

}  // namespace

Mistake mistake_35() {
    return {.number = 35,
            .name = "the constant that hides keys is too weak, or overflows",
            .symptom = "small leaks from padding, or NaN",
            .betrays = "probs of hidden keys are above 0 by one factor, or rows without keys are not 0",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer},
            .stems = {"probs"},
            .variants = {exactly("-1e4 for pairs", visible_pairs, -1e4),
                         in_float32("-1e4 for pairs, in float32", visible_pairs),

                         leaking("one constant for pairs", visible_pairs),
                         leaking("one constant for keys", visible_keys_alone), not_a_number()}};
}

}  // namespace locus::conformance

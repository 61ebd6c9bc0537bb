#include <limits>

#include "core/conformance/diagnosis/wrong_masks.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// To the short type and back; half and bfloat16 by way of float.
template <class Short>
double stored(double value) {
    if constexpr (std::is_same_v<Short, double>)
        return value;
    else
        return static_cast<double>(static_cast<float>(static_cast<Short>(static_cast<float>(value))));
}

/// scores - max over all keys, hidden ones too, in a short floating-point type; then the masked softmax.
template <class Short>
Variant subtracted(const char* how) {
    return {how, {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = visible_pairs(at, b, h);
                require_hidden(mask);
                Matrix<double> rounded = scores;
                for (Index i = 0; i < scores.rows(); ++i) {
                    const double maximum = stored<Short>(scores.row(i).maxCoeff());
                    for (Index j = 0; j < scores.cols(); ++j)
                        rounded(i, j) = stored<Short>(stored<Short>(scores(i, j)) - maximum);
                }
                Matrix<double> probs = masked_softmax<double>(rounded, mask, at.masked_row());
                // A maximum beyond the type leaves infinity less infinity.
                for (Index i = 0; i < scores.rows(); ++i)
                    for (Index j = 0; !std::isfinite(stored<Short>(scores.row(i).maxCoeff())) && j < scores.cols(); ++j)
                        probs(i, j) = mask(i, j) != 0 ? std::numeric_limits<double>::quiet_NaN() : 0;
                return probs;
            })}};
}

}  // namespace

Mistake mistake_34() {
    return {.number = 34,
            .name = "the maximum that is subtracted is taken over hidden keys too",
            .symptom = "a huge hidden score makes the visible probabilities equal",
            .betrays = "a score of 1e4 ... 1e9 on a hidden key changes probs",
            .evidence = "microsoft/DeBERTa disentangled_attention.py subtracts it before the mask",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs"},
            .variants = {subtracted<float>("in float32"), subtracted<Eigen::half>("in float16"),
                         subtracted<Eigen::bfloat16>("in bfloat16"), subtracted<double>("in float64")}};
}

}  // namespace locus::conformance

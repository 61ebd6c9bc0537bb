#include <limits>

#include "core/conformance/diagnosis/wrong_masks.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Queries that see no key get the same number for every key.
Variant filled(const char* how, double (*value)(Index keys)) {
    return {how, {probs_by([value](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = visible_pairs(at, b, h);
                Matrix<double> probs = masked_softmax<double>(scores, mask, at.masked_row());
                for (Index i = 0; i < probs.rows(); ++i)
                    if (hides_all(mask, i)) probs.row(i).setConstant(value(probs.cols()));
                return probs;
            })}};
}

std::vector<Variant> rows_without_keys() {
    return {filled("NaN", [](Index) { return std::numeric_limits<double>::quiet_NaN(); }),
            filled("uniform over all keys", [](Index keys) { return 1.0 / static_cast<double>(keys); })};
}

}  // namespace

Mistake mistake_33() {
    return {.number = 33,
            .name = "a query that sees no key gets NaN, or equal probabilities for keys it must not see",
            .symptom = "NaN spreads from padding, or padding leaks",
            .betrays = "the row sums to NaN or 1 instead of 0; its values are 1 / Tk",
            .evidence = "transformers #35162, #35182",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer},
            .stems = {"probs"},
            .variants = rows_without_keys()};
}

}  // namespace locus::conformance

#include "core/conformance/diagnosis/wrong_masks.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_32() {
    return {.number = 32,
            .name = "the mask hides keys alone, not padding queries too",
            .symptom = "rows of padding are ordinary rows, so pooled states move; real tokens are right",
            .betrays = "probs of padding queries sum to 1 over the visible keys",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta},
            .stems = {"probs"},
            .variants = {{"", {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index) {
                              return masked_softmax<double>(scores, visible_keys(at, b), at.masked_row());
                          })}}}};
}

}  // namespace locus::conformance

#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_05() {
    return {.number = 5,
            .name = "the relative index has the wrong sign, j - i for i - j, in both terms",
            .symptom = "looks consistent and can be trained, fails with released weights alone",
            .betrays = "relative.index equals the transpose of the right one, its diagonal is still k",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index", "c2p", "p2c"},
            .variants = {{"the index itself", {{"/relative.index", {}, mirrored_index}}},
                         {"the index is right, both terms read its transpose",
                          {c2p_by(mirrored_index), p2c_by(mirrored_index)}}}};
}

}  // namespace locus::conformance

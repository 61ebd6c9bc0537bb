#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// scores divided by sqrt(terms D) instead of sqrt(n d).
std::vector<Formula> divided_by_width(bool with_terms) {
    return {{"scores", {"c2c", "c2p", "p2c"}, [with_terms](const Replay& at) {
                 const Tensor<double>& q = at("q");
                 const double width = static_cast<double>(q.extent(1) * q.extent(3));
                 const double terms = with_terms ? terms_of(at).count() : 1;
                 const double factor = 1 / std::sqrt(terms * width) / right_scale(at);
                 return mapped(at.right("scores"), [&](double score) { return score * factor; });
             }}};
}

}  // namespace

Mistake mistake_27() {
    return {.number = 27,
            .name = "the scale takes the width of the model, D, for the width of a head, d",
            .symptom = "attention is too flat",
            .betrays = "scores are sqrt(n/H), or 1/sqrt(H), of what they should be; sqrt(D) is right where n = H",
            .evidence = "",
            .lesson = "10",
            .families = {Family::deberta},
            .stems = {"scores"},
            .variants = {{"sqrt(D)", divided_by_width(false)}, {"sqrt(n D)", divided_by_width(true)}}};
}

}  // namespace locus::conformance

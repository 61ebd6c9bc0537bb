#include "core/conformance/formulas/gradient_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Which numbers a wrong backward pass takes for P, the output of the softmax, and for dP.
struct Taken {
    bool dropped_probs = false;     // P keep for P
    bool gradient_of_them = false;  // d(P keep) for dP
};

Formula with(Taken taken) {
    return {"grad.scores", {"probs", "grad.probs", "keep", "grad.context", "v"}, [taken](const Replay& at) {
                const Tensor<double> probs = taken.dropped_probs ? product_of(at("probs"), at("keep")) : at("probs");
                if (!taken.gradient_of_them) return through_softmax(probs, at("grad.probs"));
                return through_softmax(probs, gradient_of_weights(at("grad.context"), values_of_weights(at)));
            }};
}

Formula without_sum() {
    return {"grad.scores", {"probs", "grad.probs"}, [](const Replay& at) {
                return product_of(at("probs"), at("grad.probs"));
            }};
}

/// The gradient that arrives is that of P keep; nobody multiplied by keep on the way back.
Formula of_dropped_probs() {
    return {"grad.probs", {"grad.context", "v", "v_rot"}, [](const Replay& at) {
                return gradient_of_weights(at("grad.context"), values_of_weights(at));
            }};
}

}  // namespace

Mistake mistake_38() {
    return {.number = 38,
            .name = "the softmax is differentiated without the sum over its row, or at the dropped-out probabilities",
            .symptom = "gradients are biased, and training still moves",
            .betrays = "a row of grad.scores sums to 0; probs (dP - sum_j probs dP) is what it must be",
            .evidence = "aws-neuron/nki-samples #81; ooples/AiDotNet #1701",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl},
            .stems = {"grad.probs", "grad.scores"},
            .variants = {{"probs dP, without the sum over the row", {without_sum()}},
                         {"the dropped-out probs for probs", {with({.dropped_probs = true})}},
                         {"the dropped-out probs for probs, and their gradient for that of probs",
                          {with({.dropped_probs = true, .gradient_of_them = true})}},
                         {"the gradient of the dropped-out probs for that of probs", {of_dropped_probs()}}}};
}

}  // namespace locus::conformance

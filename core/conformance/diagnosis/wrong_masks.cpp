#include "core/conformance/diagnosis/wrong_masks.h"

namespace locus::conformance {

const Tensor<double>& softmax_input(const Replay& at) {
    const bool talks = at.has_model() && at.model().deberta && at.deberta().config().talking_head;
    return at(talks ? "scores_mixed" : "scores");
}

Formula probs_by(HeadRule rule) {
    return {"probs", {"scores", "scores_mixed"}, [rule](const Replay& at) {
                const Tensor<double>& scores = softmax_input(at);
                return each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index h, Index b) {
                    Matrix<double> probs = rule(at, Matrix<double>(scores.matrix(n)), b, h);
                    at.show("probs", n, probs);
                    return probs;
                });
            }};
}

Matrix<double> plain_softmax(const Matrix<double>& scores) { return masked_softmax<double>(scores, {}); }

void require_hidden(const Mask& mask) {
    if (mask.size() == 0 || mask.minCoeff() != 0) throw NotEnough{"a hidden key"};
}

}  // namespace locus::conformance

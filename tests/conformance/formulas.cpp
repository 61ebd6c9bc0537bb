#include "tests/conformance/formulas.h"

#include "core/attention/softmax.h"
#include "core/models/layers.h"
#include "tests/conformance/visibility.h"

namespace locus::conformance {

Tensor<double> masked_probabilities(const Replay& at, const std::string& stem) {
    const Tensor<double>& scores = at(stem);
    const MaskedRow empty_row = masked_row_of(at);
    return each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index, Index b) {
        return masked_softmax<double>(scores.matrix(n), at.mask(b), empty_row);
    });
}

Tensor<double> joined_context(const Replay& at, const std::string& stem) {
    const Tensor<double>&probs = at(stem), &v = at("v");
    return join_heads(each_head(probs, probs.extent(2), v.extent(3),
                                [&](Index n, Index, Index) { return Matrix<double>(probs.matrix(n) * v.matrix(n)); }));
}

const std::vector<Formula>& formulas_of(Family family) {
    static const std::vector<Formula> deberta = deberta_formulas(), none;
    return family == Family::deberta ? deberta : none;
}

}  // namespace locus::conformance

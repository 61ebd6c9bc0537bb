#include "core/conformance/diagnosis/visibility.h"

namespace locus::conformance {

Mask visible_pairs(const Replay& at, Index b, Index h) {
    const Family family = at.family();
    if (family == Family::deberta || family == Family::roformer) {
        try {
            return at.mask(b);
        } catch (const NotEnough&) {  // no inputs: the reference's zeros say it
        }
    }
    const auto probs = at.expected("probs");
    if (!probs) throw NotEnough{"the mask"};
    const auto matrix = probs->matrix(b * probs->extent(1) + h);
    Mask mask(matrix.rows(), matrix.cols());
    for (Index i = 0; i < mask.rows(); ++i)
        for (Index j = 0; j < mask.cols(); ++j) mask(i, j) = matrix(i, j) != 0;
    return mask;
}

Mask visible_keys(const Replay& at, Index b) {
    const ModelInput& given = at.input();
    if (given.mask.empty()) return {};
    if (given.mask.rank() != 2) throw NotEnough{"a mask of tokens"};
    const Index length = given.length();
    Mask mask(length, length);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) mask(i, j) = given.mask[b * length + j] != 0;
    return mask;
}

bool hides_all(const Mask& mask, Index i) { return mask.size() > 0 && mask.row(i).maxCoeff() == 0; }

}  // namespace locus::conformance

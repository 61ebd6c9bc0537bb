#pragma once
// One probability of a row of scores, replayed step by step to the last bit.
#include <vector>

#include "core/attention/softmax.h"

namespace locus {

template <class Scalar>
struct SoftmaxSteps {
    bool visible = true;     // false: the mask hides the pair and the probability is 0
    Scalar row_maximum = 0;  // over visible keys
    Index row_maximum_key = -1;
    Scalar shifted = 0;      // score - row_maximum
    Scalar exponential = 0;  // exp(shifted)
    Scalar denominator = 0;  // sum of the row's exponentials, key after key
    Scalar probability = 0;
};

/// Replays masked_softmax for key j of query i.  scores [Tk] of row i, mask [Tq,Tk] or empty.  A hidden pair, and every
/// pair of a row that sees nothing, has probability 0.  Throws Error(usage) if j or the mask do not fit.
template <class Scalar>
SoftmaxSteps<Scalar> explain_softmax(const std::vector<Scalar>& scores, const Mask& mask, Index i, Index j);

}  // namespace locus

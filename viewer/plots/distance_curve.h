#pragma once
// How strong is a term at each distance?
#include <vector>

#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

/// Mean of |term(i,j)| over the visible pairs with i - j = offset, offset -(T-1) ... T-1: [T,T] -> [2T-1].
/// NaN where no visible pair has that offset.  Throws if the term is not square or the mask does not fit.
std::vector<double> strength_by_distance(const ConstView<float>& term, const Mask& visible);

}  // namespace locus

#pragma once
// The size of an error.  Eigen's maxCoeff() may pass over a NaN, and a comparison with a bound would then hold.
#include <Eigen/Core>

namespace locus::test {

/// max |x|; NaN if one of them is NaN, which no comparison passes; 0 where there is nothing.
template <class Numbers>
typename Numbers::Scalar max_abs(const Eigen::DenseBase<Numbers>& x) {
    return x.size() == 0 ? 0 : x.derived().array().abs().template maxCoeff<Eigen::PropagateNaN>();
}

}  // namespace locus::test

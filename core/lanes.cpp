#include "core/lanes.h"

#include "core/lanes_body.h"

namespace locus {

template <class Scalar>
const LaneKernels<Scalar>& portable_lanes() {
#ifdef __AVX__
    constexpr int kBytes = 32;
#else
    constexpr int kBytes = 16;
#endif
    static constexpr LaneKernels<Scalar> kernels = Lanes<Scalar, kBytes>::kernels("portable");
    return kernels;
}

template <class Scalar>
const LaneKernels<Scalar>& best_lanes() {
    const LaneKernels<Scalar>* wide = avx512_lanes<Scalar>();
    return wide ? *wide : portable_lanes<Scalar>();
}

template const LaneKernels<float>& portable_lanes<float>();
template const LaneKernels<double>& portable_lanes<double>();
template const LaneKernels<float>& best_lanes<float>();
template const LaneKernels<double>& best_lanes<double>();

}  // namespace locus

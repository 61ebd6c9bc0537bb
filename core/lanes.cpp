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

template <class Scalar>
void turn_rows(const Scalar* in, Index stride, Index rows, Index cols, Scalar* out, Index out_stride,
               const LaneKernels<Scalar>& lanes) {
    Index which[kLaneBlock];
    for (Index row = 0; row < rows; row += kLaneBlock) {
        for (Index n = 0; n < kLaneBlock; ++n) which[n] = row + n < rows ? row + n : rows - 1;
        lanes.transpose_rows(in, stride, which, kLaneBlock, cols, out + row, out_stride);
    }
}

template const LaneKernels<float>& portable_lanes<float>();
template const LaneKernels<double>& portable_lanes<double>();
template const LaneKernels<float>& best_lanes<float>();
template const LaneKernels<double>& best_lanes<double>();
template void turn_rows<float>(const float*, Index, Index, Index, float*, Index, const LaneKernels<float>&);
template void turn_rows<double>(const double*, Index, Index, Index, double*, Index, const LaneKernels<double>&);

}  // namespace locus

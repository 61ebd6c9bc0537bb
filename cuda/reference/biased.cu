#include "cuda/reference/biased.h"

#include "cuda/device_place.h"
#include "cuda/reference/biased_kernels.h"

namespace locus::cuda {

template <class Scalar>
BiasedTerms<Scalar> biased_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                     const OffsetBias<Scalar>& line, Index head, ContentScale scale, const Mask& mask) {
    return twin::biased_attention(Device(), q, k, v, line, head, scale, mask);
}

template BiasedTerms<float> biased_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                                    const OffsetBias<float>&, Index, ContentScale, const Mask&);
template BiasedTerms<double> biased_attention<double>(const Matrix<double>&, const Matrix<double>&,
                                                      const Matrix<double>&, const OffsetBias<double>&, Index,
                                                      ContentScale, const Mask&);

}  // namespace locus::cuda

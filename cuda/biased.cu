#include "cuda/biased.h"

#include "cuda/biased_cells.h"
#include "cuda/device_place.h"

namespace locus::cuda {

template <class Scalar>
BiasedTerms<Scalar> biased_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                     const BiasLine<Scalar>& line, Index head, ContentScale scale, const Mask& mask) {
    return twin::biased_attention(Device(), q, k, v, line, head, scale, mask);
}

template BiasedTerms<float> biased_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                                    const BiasLine<float>&, Index, ContentScale, const Mask&);
template BiasedTerms<double> biased_attention<double>(const Matrix<double>&, const Matrix<double>&,
                                                      const Matrix<double>&, const BiasLine<double>&, Index,
                                                      ContentScale, const Mask&);

}  // namespace locus::cuda

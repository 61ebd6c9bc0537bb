#include "cuda/reference/disentangled.h"

#include "cuda/device_place.h"
#include "cuda/reference/disentangled_kernels.h"
#include "cuda/reference/softmax_kernels.h"

namespace locus::cuda {

template <class Scalar>
Matrix<Scalar> content_to_content(const Matrix<Scalar>& q, const Matrix<Scalar>& k) {
    return twin::content_to_content(Device(), q, k);
}

template <class Scalar>
Matrix<Scalar> content_to_position(const Matrix<Scalar>& q, const Matrix<Scalar>& k_r, const RelativeBuckets& line) {
    return twin::content_to_position(Device(), q, k_r, line);
}

template <class Scalar>
Matrix<Scalar> position_to_content(const Matrix<Scalar>& k, const Matrix<Scalar>& q_r, const RelativeBuckets& line,
                                   P2cIndex index) {
    return twin::position_to_content(Device(), k, q_r, line, index);
}

template <class Scalar>
Matrix<Scalar> position_to_position(const Matrix<Scalar>& q_r, const Matrix<Scalar>& k_r, const RelativeBuckets& line) {
    return twin::position_to_position(Device(), q_r, k_r, line);
}

template <class Scalar>
Matrix<Scalar> masked_softmax(const Matrix<Scalar>& scores, const Mask& mask, MaskedRow masked_row) {
    return twin::masked_softmax(Device(), scores, mask, masked_row);
}

template <class Scalar>
Matrix<Scalar> context(const Matrix<Scalar>& probs, const Matrix<Scalar>& v) {
    return twin::context(Device(), probs, v);
}

template Matrix<float> content_to_content<float>(const Matrix<float>&, const Matrix<float>&);
template Matrix<float> content_to_position<float>(const Matrix<float>&, const Matrix<float>&, const RelativeBuckets&);
template Matrix<float> position_to_content<float>(const Matrix<float>&, const Matrix<float>&, const RelativeBuckets&,
                                                  P2cIndex);
template Matrix<float> position_to_position<float>(const Matrix<float>&, const Matrix<float>&, const RelativeBuckets&);
template Matrix<float> masked_softmax<float>(const Matrix<float>&, const Mask&, MaskedRow);
template Matrix<float> context<float>(const Matrix<float>&, const Matrix<float>&);
template Matrix<double> content_to_content<double>(const Matrix<double>&, const Matrix<double>&);
template Matrix<double> content_to_position<double>(const Matrix<double>&, const Matrix<double>&,
                                                    const RelativeBuckets&);
template Matrix<double> position_to_content<double>(const Matrix<double>&, const Matrix<double>&,
                                                    const RelativeBuckets&, P2cIndex);
template Matrix<double> position_to_position<double>(const Matrix<double>&, const Matrix<double>&,
                                                     const RelativeBuckets&);
template Matrix<double> masked_softmax<double>(const Matrix<double>&, const Mask&, MaskedRow);
template Matrix<double> context<double>(const Matrix<double>&, const Matrix<double>&);

}  // namespace locus::cuda

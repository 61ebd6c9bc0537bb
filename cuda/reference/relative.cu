#include "cuda/reference/relative.h"

#include "cuda/device_place.h"
#include "cuda/reference/relative_kernels.h"

namespace locus::cuda {

template <class Scalar>
Matrix<Scalar> content_term(const Matrix<Scalar>& q, const RowVector<Scalar>& u, const Matrix<Scalar>& k) {
    return twin::content_term(Device(), q, u, k);
}

template <class Scalar>
Matrix<Scalar> position_term(const Matrix<Scalar>& q, const RowVector<Scalar>& v, const Matrix<Scalar>& r_k) {
    return twin::position_term(Device(), q, v, r_k);
}

template <class Scalar>
Matrix<Scalar> shift_by_index(const Matrix<Scalar>& bd_raw, Index keys, Index first, Index memory,
                              const std::vector<Index>& positions) {
    return twin::shift_by_index(Device(), bd_raw, keys, first, memory, positions);
}

template <class Scalar>
RelativeTerms<Scalar> relative_terms(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& r_k,
                                     const RowVector<Scalar>& u, const RowVector<Scalar>& v, Index first) {
    return twin::relative_terms(Device(), q, k, r_k, u, v, first);
}

template Matrix<float> content_term<float>(const Matrix<float>&, const RowVector<float>&, const Matrix<float>&);
template Matrix<float> position_term<float>(const Matrix<float>&, const RowVector<float>&, const Matrix<float>&);
template Matrix<float> shift_by_index<float>(const Matrix<float>&, Index, Index, Index, const std::vector<Index>&);
template RelativeTerms<float> relative_terms<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                                    const RowVector<float>&, const RowVector<float>&, Index);
template Matrix<double> content_term<double>(const Matrix<double>&, const RowVector<double>&, const Matrix<double>&);
template Matrix<double> position_term<double>(const Matrix<double>&, const RowVector<double>&, const Matrix<double>&);
template Matrix<double> shift_by_index<double>(const Matrix<double>&, Index, Index, Index, const std::vector<Index>&);
template RelativeTerms<double> relative_terms<double>(const Matrix<double>&, const Matrix<double>&,
                                                      const Matrix<double>&, const RowVector<double>&,
                                                      const RowVector<double>&, Index);

}  // namespace locus::cuda

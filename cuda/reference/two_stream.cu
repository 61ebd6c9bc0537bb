#include "cuda/reference/two_stream.h"

#include "cuda/device_place.h"
#include "cuda/reference/two_stream_kernels.h"

namespace locus::cuda {

template <class Scalar>
Matrix<Scalar> segment_term(const Matrix<Scalar>& q, const RowVector<Scalar>& s, const Matrix<Scalar>& segments,
                            const std::vector<std::int64_t>& query_ids, const std::vector<std::int64_t>& key_ids) {
    return twin::segment_term(Device(), q, s, segments, query_ids, key_ids);
}

template Matrix<float> segment_term<float>(const Matrix<float>&, const RowVector<float>&, const Matrix<float>&,
                                           const std::vector<std::int64_t>&, const std::vector<std::int64_t>&);
template Matrix<double> segment_term<double>(const Matrix<double>&, const RowVector<double>&, const Matrix<double>&,
                                             const std::vector<std::int64_t>&, const std::vector<std::int64_t>&);

}  // namespace locus::cuda

#include "cuda/reference/learned_absolute.h"

#include "cuda/device_place.h"
#include "cuda/reference/learned_absolute_kernels.h"

namespace locus::cuda {

template <class Scalar>
Matrix<Scalar> learned_rows(const Matrix<Scalar>& table, const std::vector<std::int64_t>& positions) {
    return twin::learned_rows(Device(), table, positions);
}

template Matrix<float> learned_rows<float>(const Matrix<float>&, const std::vector<std::int64_t>&);
template Matrix<double> learned_rows<double>(const Matrix<double>&, const std::vector<std::int64_t>&);

}  // namespace locus::cuda

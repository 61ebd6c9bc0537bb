#include "cuda/reference/operations.h"

#include "cuda/device_place.h"
#include "cuda/reference/reference_operations.h"
#include "cuda/runtime.h"

namespace locus::cuda {

template <class Scalar>
const Operations<Scalar>& device_operations() {
    if (!available())
        throw Error(Fault::unsupported, "CUDA: " + why_unavailable() + "; the CPU computes the same with --device cpu");
    static const TwinOperations<Scalar, Device> operations;
    return operations;
}

template const Operations<float>& device_operations<float>();
template const Operations<double>& device_operations<double>();

}  // namespace locus::cuda

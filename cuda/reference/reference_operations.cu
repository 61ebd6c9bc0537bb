// The readable kernels on the device, in float32 and float64: everything that tests and `--device cuda` call of them.
#include "cuda/reference/reference_operations.h"

#include "cuda/reference/device_backend.h"
#include "cuda/runtime.h"

namespace locus::cuda {

namespace {

void check_available() {
    if (!available())
        throw Error(Fault::unsupported, "CUDA: " + why_unavailable() + "; the CPU computes the same with --device cpu");
}

}  // namespace

template <class Scalar>
const Operations<Scalar>& device_operations() {
    check_available();
    static const ReferenceOperations<Scalar, DeviceBackend> operations;
    return operations;
}

template <class Scalar>
const StandaloneTerms<Scalar>& device_terms() {
    check_available();
    static const ReferenceTerms<Scalar, DeviceBackend> terms;
    return terms;
}

template const Operations<float>& device_operations<float>();
template const Operations<double>& device_operations<double>();
template const StandaloneTerms<float>& device_terms<float>();
template const StandaloneTerms<double>& device_terms<double>();

}  // namespace locus::cuda

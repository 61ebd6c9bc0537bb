#pragma once
// What the readable GPU kernels must compute, wherever their element kernels run: on the host (tests/cuda) or on a
// device (tests/cuda/device).  Every check fails the test case that calls it.
#include "cuda/reference/operations.h"

namespace locus::test {

/// Every operation of a forward pass equals the CPU's.  Defined in test_cuda_operations.cpp.
void check_operations(const Operations<float>& gpu);

/// Every term that no forward pass calls equals the CPU's.  Defined in test_cuda_terms.cpp.
void check_terms(const cuda::StandaloneTerms<float>& at);

/// Every recorded model gives the CPU's stages, under the same names.  float and double; defined in
/// test_cuda_models.cpp.
template <class Scalar>
void check_models(const Operations<Scalar>& operations);

}  // namespace locus::test

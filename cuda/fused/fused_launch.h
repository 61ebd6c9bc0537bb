#pragma once
// Starts the fused kernels on memory that lies on the device already; what fused.h and the benchmarks share.
#include <string>

#include "cuda/fused/backward_arguments.h"
#include "cuda/fused/fused.h"
#include "cuda/fused/fused_arguments.h"

namespace locus::cuda {

/// Starts the kernel for a width and a number of table rows on this device, and waits for nothing.  stream: a
/// cudaStream_t, or nullptr.  Scalar: float, Half, Bfloat16.
/// Throws Error(unsupported) if the width is no multiple of 8 up to 256, the named kernel does not serve, or a call
/// fails.
template <class Scalar>
void launch_fused_forward(const ForwardArguments<Scalar>& args, int width, void* stream = nullptr,
                          ForwardPath path = ForwardPath::fastest);

/// Which kernel it would be, and its tile: "Hopper, tile 128 x 64", for people.
template <class Scalar>
std::string fused_forward_choice(const ForwardArguments<Scalar>& args, int width,
                                 ForwardPath path = ForwardPath::fastest);

/// All kernels of the backward pass, one after the other; `reached`, `columns` and the memory between the kernels are
/// the caller's to fill in.  The same bits on every run.
template <class Scalar>
void launch_fused_backward(const BackwardArguments<Scalar>& args, int width, void* stream = nullptr);

/// How the scores' gradients are computed: around queries, and around keys.
template <class Scalar>
std::string fused_backward_choice(const BackwardArguments<Scalar>& args, int width);

}  // namespace locus::cuda

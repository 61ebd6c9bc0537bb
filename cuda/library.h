#pragma once
// The CUDA backend as programs see it: a shared library, liblocus_cuda.so beside the program, that is opened when
// `--device cuda` asks for it.  So no program waits for nvcc, and none needs it.
#include <memory>
#include <string>
#include <type_traits>

#include "core/models/operations.h"
#include "core/training/attention_engine.h"

namespace locus::cuda {

/// What the library offers; cuda/library_entry.cpp implements it.
class Library {
public:
    virtual ~Library() = default;

    /// "NVIDIA H200, compute capability 9.0"
    virtual std::string device_name() const = 0;
    /// Why no device answers, in one clause: "no CUDA device (no CUDA-capable device is detected)".  Empty if one does.
    virtual std::string why_unavailable() const = 0;
    /// Every operation of a forward pass on the device; they live as long as the program.  Float32 is float32: no TF32,
    /// no fused multiply-add.
    virtual const Operations<float>& operations_f32() const = 0;
    virtual const Operations<double>& operations_f64() const = 0;
    /// Attention of a training step by the fused kernels, float32 in and out.
    virtual std::unique_ptr<AttentionEngine> training_attention() const = 0;

    template <class Scalar>
    const Operations<Scalar>& operations() const {
        if constexpr (std::is_same_v<Scalar, float>)
            return operations_f32();
        else
            return operations_f64();
    }
};

/// The library, opened at the first call.  Throws Error(unsupported) in one sentence where it is missing, where it was
/// built from other sources than this program, or where no device answers.
const Library& library();

/// The sentence with which library() throws; empty if it does not.
std::string library_error();

}  // namespace locus::cuda

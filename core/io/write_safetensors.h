#pragma once
// Named tensors into a safetensors file; reading is in safetensors.h.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"
#include "core/io/tensor_file.h"

namespace locus {

/// Name, shape and number format of a tensor in a file.
struct TensorHeading {
    std::string name;
    Shape shape;
    Dtype dtype = Dtype::f32;
    std::size_t bytes() const { return static_cast<std::size_t>(element_count(shape)) * byte_size(dtype); }
};

/// What stands before the values: a size, and that many bytes of JSON.  The values of all tensors follow in this order.
/// Throws Error(usage) for a name that comes twice, and for a name or metadata that is not UTF-8.
void write_safetensors_header(const ByteSink& sink, const std::vector<TensorHeading>& tensors,
                              const std::map<std::string, std::string>& metadata);

/// A tensor that somebody else holds as float.
struct TensorToWrite {
    std::string name;
    Shape shape;
    const float* values = nullptr;  // row-major
    Dtype dtype = Dtype::f32;       // as which it is stored: f32, or f16, rounded to the nearest
};

/// The bytes of the file, in the order given.  Throws Error(usage) for a name that comes twice or is not UTF-8, and
/// Error(unsupported) for another dtype or a value too large for f16; each sentence names the tensor.
void write_safetensors(const ByteSink& sink, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// The same as a file that is there as a whole or not at all.  Throws Error(unreadable) too, as write_atomic_file does.
void write_safetensors(const std::filesystem::path& file, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace locus

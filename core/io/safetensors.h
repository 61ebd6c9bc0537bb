#pragma once
// The safetensors format: a JSON header, then raw little-endian values.  Reading, writing, and traces: a trace on disk
// is a safetensors file whose metadata holds the stage list.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"
#include "core/io/input_file.h"
#include "core/io/tensor_file.h"
#include "core/trace_view.h"

namespace locus {

/// Opens one .safetensors file; values stay on disk until asked for.
/// Throws Error(unreadable) if the header is longer than the file, not JSON, names an unknown dtype, or if offsets
/// leave the data, overlap, leave a byte of it to no tensor, or do not fit the shape; each sentence names the file and
/// the tensor.
TensorFile open_safetensors(const std::filesystem::path& file);

/// Writes a trace: its stages in order, and in the metadata the stage list (name, axes, formula, source) under "stages"
/// beside whatever `metadata` says.  Writes to a temporary name in the same folder, then renames.
/// Throws Error(unreadable) if the folder cannot be written; nothing half-written stays behind.
void write_trace(const std::filesystem::path& file, const Trace& trace,
                 const std::map<std::string, std::string>& metadata = {});

/// Reads a trace: our own, or any safetensors file of stages in F64, F32, F16, BF16, I64 or I32 (F16 and BF16 become
/// float, I32 becomes 64 bits).  Stages come in the order of the stage list if there is one, else in model order
/// (core/stages.h).  `stored` receives the dtype each stage had in the file ("F16").
Trace read_trace(const std::filesystem::path& file, std::map<std::string, std::string>* stored = nullptr);

/// The same without its values: each stage is read when the view is asked for it.  What read_trace throws of a file
/// that is no such trace, this throws at once.
TraceView open_trace(const std::filesystem::path& file, std::map<std::string, std::string>* stored = nullptr);

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

/// A tensor whose floats the caller holds.
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

#pragma once
// The safetensors format: a JSON header, then raw little-endian values.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/mapped_file.h"
#include "core/io/tensor_file.h"
#include "core/trace.h"

namespace locus {

/// Opens one .safetensors file; values stay on disk until asked for.
/// Throws Error(unreadable) if the header is longer than the file, not JSON, names an unknown dtype, or if offsets
/// leave the data, overlap, or do not fit the shape; each sentence names the file and the tensor.
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

}  // namespace locus

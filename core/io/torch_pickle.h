#pragma once
// pytorch_model.bin without Python: the zip container of torch >= 1.6 and the legacy stream before it.
// The reader understands only what tensors need and refuses everything else by name; it never executes anything.
#include <filesystem>

#include "core/io/tensor_file.h"

namespace locus {

/// Opens a zip or legacy checkpoint; values stay on disk until asked for.
/// Throws Error(unreadable) that names the file and what is wrong: a foreign global ("os.system"), an opcode tensors do
/// not need, a truncated zip, a compressed member, a stream cut short, a storage too small for its tensor.
TensorFile open_torch_pickle(const std::filesystem::path& file);

}  // namespace locus

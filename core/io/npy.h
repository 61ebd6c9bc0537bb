#pragma once
// One NumPy array on disk as a stage: read, and written; and raw values of a port as a stage.
// Source: numpy.lib.format, versions 1 to 3.
#include <filesystem>
#include <string>
#include <string_view>

#include "core/io/tensor_file.h"
#include "core/trace.h"

namespace locus {

/// Reads file.npy (versions 1 to 3): <f8, <f4, <f2, <i8, <i4, <i2, |i1, |u1 and |b1.  The stage has no name yet;
/// `stored` receives its dtype as safetensors spells it. Throws Error(unreadable) for a file that is no array or is cut
/// short, Error(unsupported) for big-endian values, Fortran order and other types; each sentence names the file.
Stage read_npy(const std::filesystem::path& file, std::string& stored);

/// The bytes of a .npy file (version 1.0) that holds a stage of any shape: <f4, <f8 or <i8, row by row.
std::string npy_of(const Stage& stage);

/// Raw little-endian values as a stage: F64 stays, F32, F16 and BF16 become float, whole numbers 64 bits.  The stage
/// has no name yet. Throws Error(unreadable) that begins with `location` if the bytes do not fill the shape exactly.
Stage stage_of_bytes(const std::string& location, Dtype dtype, const Shape& shape, std::string_view bytes);

/// "F32" -> f32.  Throws Error(unreadable) that begins with `location`.
Dtype dtype_named(const std::string& name, const std::string& location);

}  // namespace locus

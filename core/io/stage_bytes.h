#pragma once
// Raw little-endian values that a port handed over, as a stage.
#include <string>
#include <string_view>

#include "core/io/tensor_file.h"
#include "core/trace.h"

namespace locus::conformance {

/// F64 stays, F32, F16 and BF16 become float, whole numbers 64 bits.  The stage has no name yet.
/// Throws Error(unreadable) that begins with `location` if the bytes do not fill the shape exactly.
Stage stage_of_bytes(const std::string& location, Dtype dtype, const Shape& shape, std::string_view bytes);

/// "F32" -> f32.  Throws Error(unreadable) that begins with `location`.
Dtype dtype_named(const std::string& name, const std::string& location);

}  // namespace locus::conformance

#pragma once
// One NumPy array on disk as a stage.
#include <filesystem>
#include <string>

#include "core/trace.h"

namespace locus::conformance {

/// Reads file.npy (versions 1 to 3): <f8, <f4, <f2, and whole numbers of any width.  The stage has no name yet;
/// `stored` receives its dtype as safetensors spells it.
/// Throws Error(unreadable) for a file that is no array or is cut short, Error(unsupported) for big-endian values,
/// Fortran order and other types; each sentence names the file.
Stage read_npy(const std::filesystem::path& file, std::string& stored);

}  // namespace locus::conformance

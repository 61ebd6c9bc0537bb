#pragma once
// What lies in assets/ of this source tree, or of the installed program.
#include <filesystem>

namespace locus {

/// "corpus/positions.txt" -> its path; nobody has looked whether it is there.
std::filesystem::path asset_path(const std::filesystem::path& name);

}  // namespace locus

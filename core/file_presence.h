#pragma once
// Whether a file is there.
#include <filesystem>

namespace locus {

/// Whether something of this name is there, a link that leads nowhere among it: such a file is refused where it is read,
/// not taken for one that its folder does not have.  False for a name that the system cannot look up.
inline bool is_present(const std::filesystem::path& file) {
    std::error_code error;
    return std::filesystem::exists(std::filesystem::symlink_status(file, error));
}

}  // namespace locus

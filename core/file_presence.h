#pragma once
// Whether a file is there, for core/io and core/text alike: a link that leads nowhere is there, and is refused where it
// is read.  A half-downloaded cache is full of them; taken for absent, another file would be read in their place.
#include <filesystem>

namespace locus {

/// Whether something of this name is there, a link that leads nowhere among it.  False for a name that the system
/// cannot look up.
inline bool is_present(const std::filesystem::path& file) {
    std::error_code error;
    return std::filesystem::exists(std::filesystem::symlink_status(file, error));
}

/// Whether the name is that of a link, and nothing is where it points to.
inline bool leads_nowhere(const std::filesystem::path& file) {
    std::error_code error;
    return is_present(file) && !std::filesystem::exists(file, error) && !error;
}

/// What the refusal of such a file says after its name.
inline constexpr const char* kLeadsNowhere = ": is a link that leads nowhere";

}  // namespace locus

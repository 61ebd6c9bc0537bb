#pragma once
// A file that holds one JSON object.
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace locus {

/// Throws Error(unreadable) that names the file where it cannot be read or is not what parse_json_object takes.
nlohmann::json read_json_file(const std::filesystem::path& file);

}  // namespace locus

#pragma once
// The files of a tokenizer as bytes, lines or JSON.
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace locus {

/// All bytes of a file.  Throws Error(unreadable) that names it.
std::string read_text_file(const std::filesystem::path& file);

/// The lines of a file without their ends (\n or \r\n); blank lines at the end are left out.
std::vector<std::string> read_lines(const std::filesystem::path& file);

/// One JSON object; an empty one if there is no such file.  Throws Error(unreadable) that names a damaged one.
nlohmann::json read_optional_json(const std::filesystem::path& file);

}  // namespace locus

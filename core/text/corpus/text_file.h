#pragma once
// The files of a tokenizer as bytes, lines or JSON.
#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

/// All bytes that come; `name` stands for them in messages.
/// Throws Error(unreadable) if they end in a failure, Error(unsupported) beyond 1 GiB.
std::string read_all(std::istream& stream, const std::string& name);
/// All bytes of a file, or of a pipe.  Throws Error(unreadable) that names it, Error(unsupported) beyond 1 GiB.
std::string read_text_file(const std::filesystem::path& file);
/// All bytes of a file that a model folder holds, where a pipe would be waited for without end.
/// Throws Error(unreadable) that names it.
std::string read_model_file(const std::filesystem::path& file);

/// Throws Error(unreadable) that begins with `name` for bytes that say they are UTF-16.
void check_not_utf16(std::string_view bytes, const std::string& name);

/// The lines of a text without their ends (\n or \r\n); a byte order mark in front and blank lines at the end are left
/// out.
std::vector<std::string> lines_of(const std::string& text);

/// One JSON object; an empty one if there is no such file.  Throws Error(unreadable) that names a damaged one.
nlohmann::json read_optional_json(const std::filesystem::path& file);

}  // namespace locus

#pragma once
// The CUDA tests under compute-sanitizer, where that program is.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace locus::bench {

/// memcheck and racecheck over the GPU tests of the program `tests` that have `part` in their names, so many seconds
/// each at most:
/// {"memcheck": {"clean": true or false, "summary", "seconds"}, ...}, or {"not_available": why} in place of "clean".
/// Looks in PATH, /usr/local/cuda/bin and the newest /usr/local/cuda-*/bin.  What it found goes to stderr if not clean.
nlohmann::ordered_json sanitize(const std::filesystem::path& tests, const std::string& part, double limit);

/// "memcheck: clean (ERROR SUMMARY: 0 errors), 41 s", a line for each.
std::string sanitize_table(const nlohmann::ordered_json& found);

}  // namespace locus::bench

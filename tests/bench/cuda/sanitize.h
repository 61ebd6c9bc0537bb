#pragma once
// The CUDA tests under compute-sanitizer, where that program is.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace locus::bench {

/// A program run to its end, and all that it printed.
struct Captured {
    int status = 0;    // 128 + n if signal n ended it
    std::string text;  // standard output and standard error
};

/// Throws Error(unreadable) if it cannot be started.
Captured capture(const std::vector<std::string>& command);

/// memcheck and racecheck over the GPU tests of the program `tests`:
/// {"memcheck": {"clean": true or false, "summary", "seconds"}, ...}, or {"not_available": why} in place of "clean".
/// Looks in PATH, /usr/local/cuda/bin and the newest /usr/local/cuda-*/bin.  What it found goes to stderr if not clean.
nlohmann::ordered_json sanitize(const std::filesystem::path& tests);

/// "memcheck: clean (ERROR SUMMARY: 0 errors), 41 s", a line for each.
std::string sanitize_table(const nlohmann::ordered_json& found);

}  // namespace locus::bench

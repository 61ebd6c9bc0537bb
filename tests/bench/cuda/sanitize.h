#pragma once
// The CUDA tests under compute-sanitizer, where that program is.
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace locus::bench {

/// memcheck and racecheck over the GPU tests of the program `tests` that have `part` in their names, half of `seconds`
/// each at most.  `known` is called with each as soon as it has ended: {"clean": true or false, "summary", "seconds"},
/// or
/// {"not_available": why}; "output" has the end of what it printed where that is not clean.  Looks in PATH,
/// /usr/local/cuda/bin and the newest /usr/local/cuda-*/bin.
void sanitize(const std::filesystem::path& tests, const std::string& part, double seconds,
              const std::function<void(const std::string& tool, const nlohmann::ordered_json& found)>& known);

/// "memcheck: clean (ERROR SUMMARY: 0 errors), 41 s", a line for each.
std::string sanitize_table(const nlohmann::ordered_json& found);

}  // namespace locus::bench

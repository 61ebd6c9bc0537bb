#pragma once
// What a port computed for one case, wherever it left it.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/kit/kit_case.h"
#include "core/trace.h"

namespace locus::conformance {

struct Dump {
    Trace trace;
    std::map<std::string, std::string> stored;  // dtype of each stage as it came, "F16"
    std::filesystem::path file;                 // empty if it came in several, or in none
};

/// DUMPS/<id>.safetensors, DUMPS/<id>/dump.safetensors or DUMPS/<id>/<stage>.npy; nothing if none of them is there.
/// Throws Error(unreadable) for a damaged file and where two of them are there, Error(unsupported) for values that
/// read_npy does not read.
std::optional<Dump> read_dump(const std::filesystem::path& dumps, const std::string& id);

/// Every dump of a folder that belongs to no case of the kit, as a sentence each that suggests the nearest id.
std::vector<std::string> strange_dumps(const std::filesystem::path& dumps, const Kit& kit);

/// The known word with the fewest letters to change.
std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace locus::conformance

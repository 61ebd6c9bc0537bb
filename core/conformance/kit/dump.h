#pragma once
// What a port computed for one case: read from files, or from the output of a program.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/conformance/kit/case.h"
#include "core/nearest_name.h"
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

// A port that is a program: started once per case, it writes its stages to standard output.

/// Frames name\0dtype\0shape\0values, one after the other: "layer.0.p2c", "F32", "2,3,9,9", then the values, row-major
/// and little-endian.  Throws Error(unreadable) that begins with `location` for a frame cut short or a stage named
/// twice.
Dump parse_frames(std::string_view bytes, const std::string& location);

/// A port that cannot be started or does not come to its end; no other case need be tried.
struct PortDoesNotRun : Error {
    explicit PortDoesNotRun(const std::string& sentence) : Error(Fault::unreadable, sentence) {}
};

inline constexpr double kPatience = 60;  // seconds for one case, unless --timeout says otherwise

/// Runs a command of the shell with the case's folder as its last argument, an empty input and in a process group of
/// its own, and parses what it writes.  Throws Error(unreadable) if it does not end with 0 or writes more than 1 GiB,
/// PortDoesNotRun if the shell cannot start it or it has not closed its output within `seconds`; the whole group is
/// killed then, and where this process is interrupted meanwhile.
Dump run_port(const std::string& command, const std::filesystem::path& case_folder, double seconds = kPatience);

}  // namespace locus::conformance

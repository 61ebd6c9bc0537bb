#pragma once
// A port that is a program: started once per case, it writes its stages to standard output.
#include <string>
#include <string_view>

#include "core/conformance/kit/kit_dump.h"

namespace locus::conformance {

/// Frames name\0dtype\0shape\0values, one behind the other: "layer.0.p2c", "F32", "2,3,9,9", then the values, row-major
/// and little-endian.  Throws Error(unreadable) that begins with `location` for a frame cut short or a stage named
/// twice.
Dump parse_frames(std::string_view bytes, const std::string& location);

/// A port that does not come to its end; no other case need be tried.
struct PortHangs : Error {
    explicit PortHangs(const std::string& sentence) : Error(Fault::unreadable, sentence) {}
};

inline constexpr double kPatience = 60;  // seconds for one case, unless somebody says otherwise

/// Runs a command of the shell with the case's folder as its last argument, an empty input and in a process group of
/// its own, and parses what it writes.  Throws Error(unreadable) if it does not end with 0 or writes more than 1 GiB,
/// PortHangs if it has not closed its output within `seconds`; the whole group is killed then, and where this process
/// is interrupted meanwhile.
Dump run_port(const std::string& command, const std::filesystem::path& case_folder, double seconds = kPatience);

}  // namespace locus::conformance

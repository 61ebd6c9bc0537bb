#pragma once
// A port that is a program: started once per case, it writes its stages to standard output.
#include <string>
#include <string_view>

#include "tests/conformance/kit_dump.h"

namespace locus::conformance {

/// Frames name\0dtype\0shape\0values, one behind the other: "layer.0.p2c", "F32", "2,3,9,9", then the values, row-major
/// and little-endian.  Throws Error(unreadable) that begins with `location` for a frame cut short or a stage named
/// twice.
Dump parse_frames(std::string_view bytes, const std::string& location);

/// Runs a command of the shell with the case's folder as its last argument and parses what it writes.
/// Throws Error(unreadable) if it does not end with 0.
Dump run_port(const std::string& command, const std::filesystem::path& case_folder);

}  // namespace locus::conformance

#pragma once
// Mistakes that a port knows of and lives with, each with a reason and a last day.
#include <filesystem>
#include <string>
#include <vector>

namespace locus::conformance {

struct Waiver {
    std::string id, stage, reason, expires;  // "L1/p2c_t9_k3", "layer.0.p2c", ..., "2027-01-31"
};

/// A JSON list of {id, stage, reason, expires}.  Throws Error(unreadable) for anything else; the sentence names the
/// entry and the field.
std::vector<Waiver> read_waivers(const std::filesystem::path& file);

/// "2026-11-21", the day in UTC.
std::string today();

}  // namespace locus::conformance

#pragma once
// Writes a kit: everything a port needs to find its first wrong term.
#include <filesystem>

namespace locus::conformance {

struct ExportSummary {
    std::size_t cases = 0, files = 0;
    std::uintmax_t bytes = 0;
};

/// Writes the kit into `folder`, which must not exist yet or be empty; it appears there as a whole or not at all.
/// `source`: the source tree, with the recorded cases in tests/oracle and what is copied as it is in
/// conformance/kit/ and conformance/shims/.
/// Throws Error(usage) if the folder holds something, Error(unreadable) if it cannot be written or a source is missing.
ExportSummary export_kit(const std::filesystem::path& folder, const std::filesystem::path& source);

}  // namespace locus::conformance

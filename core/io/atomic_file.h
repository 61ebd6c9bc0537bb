#pragma once
// Files that are either there as a whole or not at all.
#include <cstddef>
#include <filesystem>
#include <functional>

namespace locus {

/// Appends bytes to the file being written.
using ByteSink = std::function<void(const void* bytes, std::size_t count)>;

/// Lets `write` fill a temporary file in the same folder, then gives it its name in one step.
/// Throws Error(unreadable) that names the file and the reason (folder missing, not writable, disk full); nothing
/// half-written stays behind, and a file that was there before stays as it was.
void write_atomic_file(const std::filesystem::path& file, const std::function<void(const ByteSink&)>& write);

}  // namespace locus

#pragma once
// Folders that are either the old one or the new one, whatever happens in between.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"

namespace locus {

struct FolderFile {
    std::string name;  // without a path
    std::function<void(const ByteSink&)> write;
};

/// A file of these bytes.
FolderFile folder_file(std::string name, std::string bytes);

/// Writes the files into a new folder beside `folder` and lets the two change places in one step, so that a reader, or
/// whoever comes after a program that was killed, finds all of the old files or all of the new ones.  What else the old
/// folder held is in the new one too.  Folders above are made; what a killed program left behind is cleared away.
/// Throws Error(unreadable) that names the folder and the reason (not writable, disk full, not a folder); the old one
/// is then as it was, and nothing half-written stays.
void write_atomic_folder(const std::filesystem::path& folder, const std::vector<FolderFile>& files);

}  // namespace locus

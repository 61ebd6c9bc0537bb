#pragma once
// Writing: files that are either there as a whole or not at all, folders that are either the old one or the new one,
// and folders for one run of a program.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace locus {

/// Appends bytes to the file being written.
using ByteSink = std::function<void(const void* bytes, std::size_t count)>;

/// Lets `write` fill a temporary file in the same folder, then gives it its name in one step.
/// Throws Error(unreadable) that names the file and the reason (folder missing, not writable, disk full); nothing
/// half-written stays behind, and a file that was there before stays as it was.
void write_atomic_file(const std::filesystem::path& file, const std::function<void(const ByteSink&)>& write);

struct FolderFile {
    std::string name;  // without a path
    std::function<void(const ByteSink&)> write;
};

/// A file of these bytes.
FolderFile folder_file(std::string name, std::string bytes);

/// Writes the files into a new folder beside `folder` and lets the two change places in one step, so that a reader, or
/// a program that runs after one that was killed, finds all of the old files or all of the new ones.  What else the old
/// folder held is in the new one too.  Folders above are made; what a killed program left behind is cleared away.
/// Throws Error(unreadable) that names the folder and the reason (not writable, disk full, not a folder); the old one
/// is then as it was, and nothing half-written stays.
void write_atomic_folder(const std::filesystem::path& folder, const std::vector<FolderFile>& files);

/// A new, empty folder among the system's temporary files, removed with what it holds.
class ScratchFolder {
public:
    /// It is called locus-<program>- and six letters.  Throws Error(unreadable) with one sentence where none can be
    /// made.
    explicit ScratchFolder(const std::string& program);
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

}  // namespace locus

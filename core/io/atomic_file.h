#pragma once
// Writing files that are there as a whole or not at all, and folders for one run of a program.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace locus {

/// Appends bytes to the file being written.
using ByteSink = std::function<void(const void* bytes, std::size_t count)>;

/// Lets `write` fill a temporary file in the same folder, then gives it its name in one step.  A link stays: what it
/// points to is written.  A file that was there keeps its permissions, and is not replaced where they forbid writing.
/// Throws Error(unreadable) that names the file and the reason (folder missing, not writable, disk full, something
/// else of that name); nothing half-written stays behind, and a file that was there before stays as it was.  A program
/// that is killed in between leaves at most ".NAME.part-PROCESS", which the next write of the same file removes.
void write_atomic_file(const std::filesystem::path& file, const std::function<void(const ByteSink&)>& write);

/// The same for bytes that are there already.
void write_atomic_file(const std::filesystem::path& file, const std::string& bytes);

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

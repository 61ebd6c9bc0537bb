#pragma once
// A folder for what one run of a program makes for itself.
#include <filesystem>
#include <string>

namespace locus {

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

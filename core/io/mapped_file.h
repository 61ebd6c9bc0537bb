#pragma once
// A file in the address space: pages are read when touched, not before.
#include <cstddef>
#include <filesystem>

namespace locus {

class MappedFile {
public:
    /// Throws Error(unreadable) that names the file if it cannot be opened or is not a regular file.
    explicit MappedFile(const std::filesystem::path& file);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace locus

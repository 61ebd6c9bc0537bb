#pragma once
// Reading files: their bytes, one JSON object, what lies in assets/, and the sentence about one that cannot be used.
#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/check.h"

namespace locus {

/// A file in the address space: pages are read when touched, not before.
class MappedFile {
public:
    /// Throws Error(unreadable) that names the file if it cannot be opened or is not a regular file,
    /// and std::bad_alloc whose what() names it where there is no room for it in the address space.
    explicit MappedFile(const std::filesystem::path& file);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const std::byte* data() const { return data_; }
    /// Gives the memory of these bytes back; who touches them again reads the file again.
    void forget(std::size_t first, std::size_t count) const;
    std::size_t size() const { return size_; }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Weights that git did not fetch are a small text in their place.  Throws Error(unreadable) that says so.
void check_no_pointer(const MappedFile& file);

/// The bytes of a JSON file.  Throws Error(unreadable) that names the file where it cannot be read or is larger than
/// 64 MiB.
std::string read_json_text(const std::filesystem::path& file);

/// A file that holds one JSON object.  Throws as read_json_text does, and where it is not what parse_json_object takes.
nlohmann::json read_json_file(const std::filesystem::path& file);

/// "corpus/positions.txt" -> its path in assets/ of this source tree, or of the installed program; nobody has looked
/// whether it is there.
std::filesystem::path asset_path(const std::filesystem::path& name);

/// Throws Error(fault): "<place>: <what>", in printable characters.  place: a file, or what stands for one.
[[noreturn]] void throw_unreadable(const std::string& place, const std::string& what, Fault fault = Fault::unreadable);

/// Text that came out of a file, made fit for a sentence: one_line of core/check.h, and what is longer than 300 bytes
/// ends in "...": a damaged file may hold anything where a name should be.
std::string printable(std::string text);

}  // namespace locus

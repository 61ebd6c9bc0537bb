#pragma once
// Where the members of a zip archive lie.  Stored members only: what torch writes can be mapped as it is.
#include <cstddef>
#include <map>
#include <string>

#include "core/io/input_file.h"

namespace locus {

struct ZipMember {
    std::size_t offset = 0;  // first byte of the data, from the start of the file
    std::size_t size = 0;
};

/// True if the file begins as a zip archive does.
bool looks_like_zip(const MappedFile& file);

/// Members by name; checksums are not looked at, as torch does not.  Throws Error(unreadable) that names the file if
/// the directory is missing, cut short or of another length than its members, or if a member leaves the file, overlaps
/// another, is compressed or encrypted, or has another name in its own header.
std::map<std::string, ZipMember> read_zip_directory(const MappedFile& file);

}  // namespace locus

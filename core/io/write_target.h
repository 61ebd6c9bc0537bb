#pragma once
// Where a file or folder is written: behind the links of its name, and beside it, under a name of its own, until it is
// whole.
#include <filesystem>
#include <string>
#include <vector>

namespace locus {

/// Throws Error(unreadable): "NAME: cannot be written: REASON".
[[noreturn]] void throw_not_writable(const std::filesystem::path& name, const std::string& reason);
/// The same with the system's words for `error`, a value of errno.
[[noreturn]] void throw_not_writable(const std::filesystem::path& name, int error);

/// Throws as throw_not_writable(shown, ...) if something is at `place` that this process may not write: a rename would
/// replace it all the same.
void check_writable(const std::filesystem::path& place, const std::filesystem::path& shown);

/// What a name leads to through links, so that a link stays and what it points to is written: the file or folder, or
/// where it is to be made.  The system follows the links first: a circle of them, or one that somebody else put into a
/// shared folder, is its refusal.  Throws Error(unreadable) that names `path`.
std::filesystem::path behind_links(const std::filesystem::path& path);

/// Throws Error(usage) if a file that is to be written is one that is read, or one of the others that are written, by
/// whatever name.  Empty names count for nothing.
void check_apart(const std::vector<std::string>& written, const std::vector<std::string>& read);

/// The name beside `target` under which this process writes: ".NAME<mark>PROCESS", with the first 200 bytes of a long
/// name.
std::filesystem::path draft_name(const std::filesystem::path& target, const std::string& mark);

/// Such names that processes left which are gone, and one of this process, which can only be a namesake's.
std::vector<std::filesystem::path> abandoned_drafts(const std::filesystem::path& target, const std::string& mark);

}  // namespace locus

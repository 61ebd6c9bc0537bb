#pragma once
// Writing folders that are either the old one or the new one.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"

namespace locus {

struct FolderFile {
    std::string name;  // of the file, or of a folder inside and the file: "generator/config.json"
    std::function<void(const ByteSink&)> write;
};

/// A file of these bytes.
FolderFile folder_file(std::string name, std::string bytes);

/// Writes the files into a new folder beside `folder` and lets the two change places in one step, so that a reader, or
/// a program that runs after one that was killed, finds all of the old files or all of the new ones.  What else the old
/// folder held is in the new one too, and so are the modes of the folder and of files that were there; the same goes
/// for folders inside that files are written into.  Folders above are made; a link to a folder stays.
/// Throws Error(unreadable) that names the folder or file and the reason (not writable, disk full, not a folder); the
/// old one is then as it was, and nothing half-written stays.  Throws Error(usage) if this process stands in the
/// folder, which is another one afterwards.  A program that is killed in between leaves at most ".NAME.part-PROCESS"
/// and ".NAME.new-PROCESS" beside the folder, which the next write or tidy_atomic_folder() removes.
void write_atomic_folder(const std::filesystem::path& folder, const std::vector<FolderFile>& files);

/// Puts right what a program left that was killed while it wrote this folder: what is half is removed, and folders
/// inside the old one return to it.  Where a file system cannot let two folders change places, the old one itself
/// may have to return to its name.  Throws Error(usage) as write_atomic_folder() does.
void tidy_atomic_folder(const std::filesystem::path& folder);

/// Lets `fill` write into a draft beside `folder`, which then gets its name.  `folder` is new or empty.  What a program
/// that was killed left, ".NAME.new-PROCESS", is removed first.
/// Throws Error(unreadable) that names what cannot be written, and what `fill` throws; nothing stays behind then.
void write_new_folder(const std::filesystem::path& folder,
                      const std::function<void(const std::filesystem::path& draft)>& fill);

}  // namespace locus

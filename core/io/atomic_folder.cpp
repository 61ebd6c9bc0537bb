#include "core/io/atomic_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& folder, const std::string& reason) {
    throw Error(Fault::unreadable, folder.string() + ": cannot be written: " + reason);
}

fs::path draft_name(const fs::path& folder, ::pid_t process) {
    return folder.parent_path() / ("." + folder.filename().string() + ".part-" + std::to_string(process));
}

/// Removes a folder that is not in use any more; folders inside it are somebody's and go over to `folder`.
void clear_away(const fs::path& draft, const fs::path& folder) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(draft, ignored))
        if (entry.is_directory(ignored) && !fs::exists(folder / entry.path().filename(), ignored))
            fs::rename(entry.path(), folder / entry.path().filename(), ignored);
    fs::remove_all(draft, ignored);
}

/// What programs that are gone left beside the folder.
void clear_remains(const fs::path& folder) {
    std::error_code ignored;
    const std::string beginning = "." + folder.filename().string() + ".part-";
    std::vector<fs::path> remains;
    for (const auto& entry : fs::directory_iterator(folder.parent_path(), ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(beginning)) continue;
        const std::string process = name.substr(beginning.size());
        const bool number = !process.empty() && process.size() < 9 &&
                            std::all_of(process.begin(), process.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (number && ::kill(static_cast<::pid_t>(std::stol(process)), 0) != 0 && errno == ESRCH)
            remains.push_back(entry.path());
    }
    for (const fs::path& one : remains) clear_away(one, folder);
}

/// The new folder while it is filled; goes away unless it is put in place.
class DraftFolder {
public:
    explicit DraftFolder(const fs::path& target) : target_(target), path_(draft_name(target, ::getpid())) {
        std::error_code error;
        fs::create_directories(target.parent_path(), error);
        if (error) cannot_write(target, error.message());
        fs::remove_all(path_, error);
        if (!fs::create_directory(path_, error)) cannot_write(target, error.message());
    }
    ~DraftFolder() { clear_away(path_, target_); }
    DraftFolder(const DraftFolder&) = delete;
    DraftFolder& operator=(const DraftFolder&) = delete;

    void write(const FolderFile& file) {
        try {
            write_atomic_file(path_ / file.name, file.write);
        } catch (const Error& error) {
            // The sentence names the file where the reader will look for it.
            std::string sentence = error.what();
            if (const auto at = sentence.find(path_.string()); at != std::string::npos)
                sentence.replace(at, path_.string().size(), target_.string());
            throw Error(error.fault(), sentence);
        }
    }

    /// The other files of the old folder stay in the new one.
    void keep_others() {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(target_, error)) {
            const fs::path copy = path_ / entry.path().filename();
            if (entry.is_directory(error) || fs::exists(copy, error)) continue;
            fs::create_hard_link(entry.path(), copy, error);
            if (error) fs::copy(entry.path(), copy, fs::copy_options::copy_symlinks, error);
            if (error) cannot_write(target_, entry.path().filename().string() + " cannot be kept: " + error.message());
        }
    }

    void put_in_place() {
        flush();
        std::error_code error;
        if (!fs::exists(target_, error)) {
            if (::rename(path_.c_str(), target_.c_str()) != 0) cannot_write(target_, std::strerror(errno));
            return;
        }
        if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) return;
        if (errno != EINVAL && errno != ENOSYS) cannot_write(target_, std::strerror(errno));
        replace_in_two_steps();
    }

private:
    /// So that what the new names lead to is on the disk before the names are.
    void flush() const {
        for (const auto& entry : fs::directory_iterator(path_)) {
            const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
            if (descriptor < 0) continue;  // a link to nowhere
            const int failed = ::fsync(descriptor) != 0 && errno == EIO ? errno : 0;
            ::close(descriptor);
            if (failed) cannot_write(target_, std::strerror(failed));
        }
    }

    /// For file systems where two folders cannot change places: the old one steps aside first, and back if need be.
    void replace_in_two_steps() {
        const fs::path aside = path_.string() + "-old";
        if (::rename(target_.c_str(), aside.c_str()) != 0) cannot_write(target_, std::strerror(errno));
        if (::rename(path_.c_str(), target_.c_str()) != 0) {
            const int error = errno;
            ::rename(aside.c_str(), target_.c_str());
            cannot_write(target_, std::strerror(error));
        }
        clear_away(aside, target_);
    }

    fs::path target_, path_;
};

}  // namespace

FolderFile folder_file(std::string name, std::string bytes) {
    return {std::move(name), [bytes = std::move(bytes)](const ByteSink& sink) { sink(bytes.data(), bytes.size()); }};
}

void write_atomic_folder(const fs::path& folder, const std::vector<FolderFile>& files) {
    std::error_code error;
    fs::path target = fs::weakly_canonical(fs::absolute(folder, error), error);
    if (error) cannot_write(folder, error.message());
    if (!target.has_filename()) target = target.parent_path();  // "model/"
    if (fs::exists(target, error) && !fs::is_directory(target, error))
        cannot_write(folder, "there is a file of that name");
    LOCUS_CHECK(target.has_filename(), folder.string() + ": is the root of all folders, expected one of its own");
    clear_remains(target);
    DraftFolder draft(target);
    for (const FolderFile& file : files) draft.write(file);
    draft.keep_others();
    draft.put_in_place();
}

}  // namespace locus

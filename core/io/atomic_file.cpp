#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "core/check.h"

namespace locus {

namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& file, int error) {
    throw Error(Fault::unreadable, file.string() + ": cannot be written: " + std::strerror(error));
}

/// A file without a name in the target's folder, so that not even a killed program leaves it behind; on file systems
/// that cannot do that, a temporary name that is removed unless kept.
class Draft {
public:
    explicit Draft(const std::filesystem::path& target)
        : target_(target), name_(target.string() + ".part-" + std::to_string(::getpid())) {
        const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
        descriptor_ = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
        if (descriptor_ >= 0) return;
        descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0) cannot_write(target_, errno);
        named_ = true;
    }
    ~Draft() {
        if (descriptor_ >= 0) ::close(descriptor_);
        if (named_) ::unlink(name_.c_str());
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    void append(const void* bytes, std::size_t count) {
        const char* from = static_cast<const char*>(bytes);
        while (count > 0) {
            const ssize_t written = ::write(descriptor_, from, count);
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) cannot_write(target_, errno);
            from += written;
            count -= static_cast<std::size_t>(written);
        }
    }

    void keep() {
        if (!named_) {
            const std::string unnamed = "/proc/self/fd/" + std::to_string(descriptor_);
            if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) != 0)
                cannot_write(target_, errno);
            named_ = true;
        }
        const int descriptor = std::exchange(descriptor_, -1);
        if (::close(descriptor) != 0) cannot_write(target_, errno);
        if (::rename(name_.c_str(), target_.c_str()) != 0) cannot_write(target_, errno);
        named_ = false;
    }

private:
    std::filesystem::path target_;
    std::string name_;
    int descriptor_ = -1;
    bool named_ = false;  // the temporary name exists and has to be removed
};

}  // namespace

void write_atomic_file(const std::filesystem::path& file, const std::function<void(const ByteSink&)>& write) {
    // A rename would put an ordinary file in the place of a pipe or a device.
    std::error_code ignored;
    if (const auto status = std::filesystem::status(file, ignored);
        std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        throw Error(Fault::unreadable,
                    file.string() + ": cannot be written: there is something of that name that is not a regular file");
    Draft draft(file);
    write([&](const void* bytes, std::size_t count) { draft.append(bytes, count); });
    draft.keep();
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& folder, const std::string& reason) {
    throw Error(Fault::unreadable, folder.string() + ": cannot be written: " + reason);
}

fs::path draft_name(const fs::path& folder, ::pid_t process) {
    return folder.parent_path() / ("." + folder.filename().string() + ".part-" + std::to_string(process));
}

/// Removes a folder that is not in use any more; folders inside it belong to the user and go over to `folder`.
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

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& program) {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / ("locus-" + program + "-XXXXXX")).string();
    if (error || !::mkdtemp(name.data()))
        throw Error(Fault::unreadable, name + ": no folder can be made there, expected room for temporary files");
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
}

}  // namespace locus

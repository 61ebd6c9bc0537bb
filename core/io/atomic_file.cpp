#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/io/write_target.h"

namespace locus {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFileMark = ".part-";

/// A file without a name in the target's folder, so that not even a killed program leaves it behind; on file systems
/// that cannot do that, a temporary name that is removed unless kept.
class Draft {
public:
    /// `wanted` is what the user calls `target`.
    Draft(const fs::path& wanted, const fs::path& target)
        : wanted_(wanted), target_(target), name_(draft_name(target, kFileMark).string()) {
        const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
        descriptor_ = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
        if (descriptor_ >= 0) return;
        descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0) throw_not_writable(wanted_, errno);
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
            if (written < 0) throw_not_writable(wanted_, errno);
            from += written;
            count -= static_cast<std::size_t>(written);
        }
    }

    void keep() {
        // Who may read the file stays the same.
        struct stat old = {};
        if (::stat(target_.c_str(), &old) == 0) ::fchmod(descriptor_, old.st_mode & 07777);
        if (!named_) {
            const std::string unnamed = "/proc/self/fd/" + std::to_string(descriptor_);
            if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) != 0)
                throw_not_writable(wanted_, errno);
            named_ = true;
        }
        const int descriptor = std::exchange(descriptor_, -1);
        if (::close(descriptor) != 0) throw_not_writable(wanted_, errno);
        if (::rename(name_.c_str(), target_.c_str()) != 0) throw_not_writable(wanted_, errno);
        named_ = false;
    }

private:
    fs::path wanted_, target_;
    std::string name_;
    int descriptor_ = -1;
    bool named_ = false;  // the temporary name exists and has to be removed
};

/// A rename would put an ordinary file in the place of a pipe, a device or a file that may not be written.
void check_place(const fs::path& file, const fs::path& target) {
    if (!target.has_filename()) throw_not_writable(file, "the name ends in a slash, expected a file's");
    std::error_code ignored;
    const fs::file_status status = fs::status(target, ignored);
    if (!fs::exists(status)) return;
    if (fs::is_directory(status)) throw_not_writable(file, "there is a folder of that name");
    if (!fs::is_regular_file(status))
        throw_not_writable(file, "there is something of that name that is not a regular file");
    check_writable(target, file);
}

}  // namespace

void write_atomic_file(const fs::path& file, const std::function<void(const ByteSink&)>& write) {
    const fs::path target = behind_links(file);
    check_place(file, target);
    std::error_code ignored;
    for (const fs::path& one : abandoned_drafts(target, kFileMark))
        if (!fs::is_directory(fs::symlink_status(one, ignored))) fs::remove(one, ignored);
    Draft draft(file, target);
    write([&](const void* bytes, std::size_t count) { draft.append(bytes, count); });
    draft.keep();
}

void write_atomic_file(const fs::path& file, const std::string& bytes) {
    write_atomic_file(file, [&](const ByteSink& sink) { sink(bytes.data(), bytes.size()); });
}

ScratchFolder::ScratchFolder(const std::string& program) {
    std::error_code error;
    fs::path place = fs::temp_directory_path(error);
    if (error) {
        // The variables that temp_directory_path() looks at, in its order.
        for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
            if (const char* named = place.empty() ? std::getenv(variable) : nullptr) place = named;
        throw Error(Fault::unreadable, place.string() + ": is no folder for temporary files: " + error.message() +
                                           ", expected TMPDIR to name one");
    }
    std::string name = (place / ("locus-" + program + "-XXXXXX")).string();
    if (!::mkdtemp(name.data()))
        throw Error(Fault::unreadable, name + ": no folder can be made there, expected room for temporary files");
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    try {
        std::error_code error;
        fs::remove_all(path_, error);
    } catch (const std::bad_alloc&) {  // what stays lies among the system's temporary files
    }
}

}  // namespace locus

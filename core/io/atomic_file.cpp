#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace locus

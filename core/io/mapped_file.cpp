#include "core/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/check.h"

namespace locus {

MappedFile::MappedFile(const std::filesystem::path& file) : path_(file) {
    // O_NONBLOCK: a pipe is refused below instead of being waited for.
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) throw Error(Fault::unreadable, file.string() + ": cannot be opened: " + std::strerror(errno));
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor);
        throw Error(Fault::unreadable, file.string() + ": not a regular file");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) {
        void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (address == MAP_FAILED) {
            ::close(descriptor);
            throw Error(Fault::unreadable, file.string() + ": cannot be mapped: " + std::strerror(errno));
        }
        data_ = static_cast<const std::byte*>(address);
    }
    ::close(descriptor);
}

MappedFile::~MappedFile() {
    if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace locus

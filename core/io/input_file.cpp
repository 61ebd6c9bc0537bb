#include "core/io/input_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/file_presence.h"
#include "core/json_text.h"

namespace locus {

namespace {

/// Memory that cannot be had, for a file.
class NoRoom : public std::bad_alloc {
public:
    explicit NoRoom(const std::filesystem::path& file)
        : sentence_(std::make_shared<std::string>(file.string() + ": there is not enough memory for this file")) {}
    const char* what() const noexcept override { return sentence_->c_str(); }

private:
    std::shared_ptr<const std::string> sentence_;  // copies of an exception may not throw
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& file) : path_(file) {
    // O_NONBLOCK: a pipe is refused below instead of being waited for.
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        const std::string reason = std::strerror(errno);
        throw Error(Fault::unreadable,
                    file.string() + (leads_nowhere(file) ? kLeadsNowhere : ": cannot be opened: " + reason));
    }
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor);
        throw Error(Fault::unreadable, file.string() + ": not a regular file");
    }
    if (status.st_size > std::numeric_limits<std::ptrdiff_t>::max()) {  // where addresses have 32 bits
        ::close(descriptor);
        throw NoRoom(file);
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) {
        void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (address == MAP_FAILED) {
            const int error = errno;
            ::close(descriptor);
            if (error == ENOMEM) throw NoRoom(file);
            throw Error(Fault::unreadable, file.string() + ": cannot be mapped: " + std::strerror(error));
        }
        data_ = static_cast<const std::byte*>(address);
    }
    ::close(descriptor);
}

MappedFile::~MappedFile() {
    if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::forget(std::size_t first, std::size_t count) const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t begin = first / page * page, end = std::min(first + count, size_);
    if (data_ && begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void check_no_pointer(const MappedFile& file) {
    constexpr std::string_view kBeginning = "version https://git-lfs";
    if (file.size() >= kBeginning.size() && std::memcmp(file.data(), kBeginning.data(), kBeginning.size()) == 0)
        throw Error(Fault::unreadable, file.path().string() +
                                           ": is a pointer of Git LFS, expected the file that it stands for (git lfs "
                                           "pull fetches it)");
}

std::string read_json_text(const std::filesystem::path& file) {
    constexpr std::size_t kMost = 64 << 20;  // the index of the largest model has a few of these
    const MappedFile mapped(file);
    if (mapped.size() > kMost)
        throw_unreadable(file, "has " + std::to_string(mapped.size()) + " bytes, expected at most 64 MiB of JSON");
    return {reinterpret_cast<const char*>(mapped.data()), mapped.size()};
}

nlohmann::json read_json_file(const std::filesystem::path& file) {
    return parse_json_object(read_json_text(file), printable(file.string()));
}

std::filesystem::path asset_path(const std::filesystem::path& name) {
#ifdef LOCUS_ASSETS
    // An installed program has them in a place relative to itself, a built one in its source tree.
    static const std::filesystem::path folder = [] {
        std::error_code error;
        const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
        const std::filesystem::path installed = program.parent_path() / "../../share/locus/assets";
        return !error && std::filesystem::is_directory(installed, error) ? installed.lexically_normal()
                                                                         : std::filesystem::path(LOCUS_ASSETS);
    }();
    return folder / name;
#else  // inside the Python package: beside the library that this function was linked into
    Dl_info module = {};
    ::dladdr(reinterpret_cast<void*>(&asset_path), &module);
    return std::filesystem::path(module.dli_fname ? module.dli_fname : "").parent_path() / "assets" / name;
#endif
}

void throw_unreadable(const std::string& place, const std::string& what, Fault fault) {
    throw Error(fault, printable(place) + ": " + printable(what));
}

std::string printable(std::string text) {
    constexpr std::size_t kMost = 300;
    if (text.size() > kMost) {
        std::size_t end = kMost;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
        text.resize(end);
        text += "...";
    }
    return one_line(std::move(text));
}

}  // namespace locus

#include "core/io/write_target.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/check.h"

namespace locus {

namespace fs = std::filesystem;

namespace {

std::string beginning_of_draft(const fs::path& target, const std::string& mark) {
    constexpr std::size_t kMost = 200;  // a name has at most 255 bytes
    return "." + target.filename().string().substr(0, kMost) + mark;
}

bool is_gone(const std::string& process) {
    const bool number = !process.empty() && process.size() < 9 &&
                        std::all_of(process.begin(), process.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number) return false;
    const auto id = static_cast<::pid_t>(std::stol(process));
    return id == ::getpid() || (::kill(id, 0) != 0 && errno == ESRCH);
}

bool is_same_file(const fs::path& a, const fs::path& b) {
    std::error_code error;
    if (fs::exists(a, error) && fs::exists(b, error)) return fs::equivalent(a, b, error);
    return fs::absolute(a, error).lexically_normal() == fs::absolute(b, error).lexically_normal();
}

}  // namespace

void check_apart(const std::vector<std::string>& written, const std::vector<std::string>& read) {
    for (std::size_t n = 0; n < written.size(); ++n) {
        if (written[n].empty()) continue;
        for (const std::string& input : read)
            LOCUS_CHECK(input.empty() || !is_same_file(written[n], input),
                        written[n] + ": is read as " + input + ", expected another file to write to");
        for (std::size_t m = 0; m < n; ++m)
            LOCUS_CHECK(written[m].empty() || !is_same_file(written[n], written[m]),
                        written[n] + ": is to be written twice, expected two files");
    }
}

void throw_not_writable(const fs::path& name, const std::string& reason) {
    throw Error(Fault::unreadable, name.string() + ": cannot be written: " + reason);
}

void throw_not_writable(const fs::path& name, int error) {
    throw_not_writable(name, std::string(std::strerror(error)));
}

void check_writable(const fs::path& place, const fs::path& shown) {
    if (::faccessat(AT_FDCWD, place.c_str(), W_OK, AT_EACCESS) == 0) return;
    if (errno != ENOENT && errno != ELOOP) throw_not_writable(shown, errno);
}

fs::path behind_links(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::status_known(status)) throw_not_writable(path, error.value());
    if (fs::exists(status)) {
        const fs::path real = fs::canonical(path, error);
        if (error) throw_not_writable(path, error.value());
        return real;
    }
    fs::path target = path;
    for (int links = 0; links < 40; ++links) {  // as many as the system follows
        const fs::path next = fs::read_symlink(target, error);
        if (error) return target;  // no link any more
        target = target.parent_path() / next;
    }
    throw_not_writable(path, ELOOP);
}

fs::path draft_name(const fs::path& target, const std::string& mark) {
    return target.parent_path() / (beginning_of_draft(target, mark) + std::to_string(::getpid()));
}

std::vector<fs::path> abandoned_drafts(const fs::path& target, const std::string& mark) {
    std::error_code ignored;
    const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
    const std::string beginning = beginning_of_draft(target, mark);
    std::vector<fs::path> found;
    for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
        const std::string name = at->path().filename().string();
        if (name.starts_with(beginning) && is_gone(name.substr(beginning.size()))) found.push_back(at->path());
    }
    return found;
}

}  // namespace locus

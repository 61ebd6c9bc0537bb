#pragma once
// Kills a child process between two system calls of its write: the file system can be seen in no other states.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <random>

#include "tests/run_program.h"

namespace locus::test {

/// Every file below a folder with its bytes, and every folder and link as such.
inline std::map<std::string, std::string> snapshot(const fs::path& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string name = entry.path().lexically_relative(folder).string();
        if (entry.is_symlink())
            all[name] = "link to " + fs::read_symlink(entry.path()).string();
        else
            all[name] = entry.is_directory() ? "folder" : read_file(entry.path());
    }
    return all;
}

/// In a child: becomes a program of this build that says nothing.
inline void become(const std::string& program, const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {(fs::path(LOCUS_BINARY_DIR) / "bin" / program).string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> raw;
    for (std::string& word : all) raw.push_back(word.data());
    raw.push_back(nullptr);
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int one : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, one);
    ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // a process that is traced cannot look for leaks
    ::execv(raw[0], raw.data());
}

/// A child process that can be stopped before and after each of its system calls.
class TracedChild {
public:
    explicit TracedChild(const std::function<void()>& work) {
        child_ = ::fork();
        if (child_ == 0) {
            if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(125);
            ::raise(SIGSTOP);
            work();
            ::_exit(0);
        }
        wait();
        if (!over()) ::ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    }
    ~TracedChild() { kill(); }
    TracedChild(const TracedChild&) = delete;
    TracedChild& operator=(const TracedChild&) = delete;

    bool over() const { return WIFEXITED(status_) || WIFSIGNALED(status_); }
    /// Of its exit; 128 + the signal that ended it.
    int status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

    /// To the next beginning or end of a system call.
    void go_on() {
        const int signal = WIFSTOPPED(status_) && (WSTOPSIG(status_) & 0x7f) != SIGTRAP && WSTOPSIG(status_) != SIGSTOP
                               ? WSTOPSIG(status_)
                               : 0;
        ::ptrace(PTRACE_SYSCALL, child_, nullptr, signal);
        wait();
    }
    void kill() {
        if (over()) return;
        ::kill(child_, SIGKILL);
        while (!over()) wait();
    }
    /// Is it about to make, rename or remove a file or a folder in this folder or below?
    bool changes_names_below(const std::string& folder) const {
        __ptrace_syscall_info call = {};
        if (::ptrace(PTRACE_GET_SYSCALL_INFO, child_, sizeof call, &call) <= 0 || call.op != PTRACE_SYSCALL_INFO_ENTRY)
            return false;
        const auto number = static_cast<long>(call.entry.nr);
        std::uint64_t path = 0;
        if (number == SYS_openat && (call.entry.args[2] & O_ACCMODE) != O_RDONLY) path = call.entry.args[1];
        for (const long at : {SYS_mkdirat, SYS_renameat2, SYS_unlinkat})
            if (number == at) path = call.entry.args[1];
#ifdef SYS_mkdir  // of the older calls, which some processors' Linux lacks, there are all or none
        for (const long plain : {SYS_mkdir, SYS_rename, SYS_unlink, SYS_rmdir})
            if (number == plain) path = call.entry.args[0];
        if (number == SYS_renameat) path = call.entry.args[1];
#endif
        return path != 0 && text_at(path, folder.size()) == folder;
    }

private:
    void wait() { ::waitpid(child_, &status_, 0); }
    std::string text_at(std::uint64_t address, std::size_t size) const {
        std::string text(size, '\0');
        const iovec here{text.data(), size}, there{reinterpret_cast<void*>(address), size};
        return ::process_vm_readv(child_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size) ? text : std::string();
    }

    ::pid_t child_ = -1;
    int status_ = 0;
};

/// Something that is written as "out" in a folder that is otherwise empty.
struct Write {
    std::function<void(const fs::path& out)> work;  // runs in a child
    /// Puts something whole in its place that is to be replaced, or nothing.
    std::function<void(const fs::path& out)> prepare = [](const fs::path& out) { write_file(out, "old"); };
};

struct WriteEnd {
    std::size_t stops = 0;         // from the first file or folder that was made on
    std::size_t last_change = 0;   // the last of them at which a name changed
    bool temporary_files = false;  // were there any when the write began?
    bool killed = false;
    int status = 0;
};

/// Runs the write; kills it at the n-th stop from where it began to make something.  `temporary` is the system's folder
/// for temporary files to it.
inline WriteEnd run_until_stop(const Write& write, const fs::path& folder, const fs::path& temporary, std::size_t n) {
    TracedChild child([&] {
        ::setenv("TMPDIR", temporary.c_str(), 1);
        write.work(folder / "out");
    });
    WriteEnd end;
    bool began = false;
    for (; !child.over(); child.go_on()) {
        if (child.changes_names_below(folder.string())) {
            if (!began) end.temporary_files = !fs::is_empty(temporary);
            began = true;
            end.last_change = end.stops;
        }
        if (!began) continue;
        if (end.stops++ < n) continue;
        child.kill();
        end.killed = true;
    }
    end.status = child.status();
    return end;
}

/// What programs that were killed may leave beside "out", which its next write removes.
inline bool is_draft(const std::string& name) {
    return name.starts_with(".out.part-") || name.starts_with(".out.new-");
}

/// Killed at so many moments of the write: what is there is what was there, or what was to come.
inline void check_killed_writes(const Write& write, int kills = 50) {
    constexpr std::size_t kNever = ~std::size_t{0};
    const TemporaryFolder temporary;
    std::map<std::string, std::string> written;
    std::size_t stops = 0;
    {
        const TemporaryFolder folder;
        write.prepare(folder / "out");
        const WriteEnd whole = run_until_stop(write, folder.path(), temporary.path(), kNever);
        if (whole.status == 125) {
            WARN("skipped: one process may not trace another here");
            return;
        }
        REQUIRE(whole.status == 0);
        CHECK_FALSE(whole.temporary_files);  // nobody would remove them
        // A little further than the last change: how a program ends, which is long under a sanitizer, writes nothing.
        stops = std::min(whole.stops, whole.last_change + 12);
        written = snapshot(folder.path());
        REQUIRE(stops >= 10);
        REQUIRE(written.contains("out"));
    }
    const TemporaryFolder folder;
    write.prepare(folder / "out");
    const auto old = snapshot(folder.path());
    std::mt19937 random(7);
    int killed = 0, kept_old = 0;
    for (int n = 0; killed < kills && n < 2 * kills; ++n) {
        if (n > 0) write.prepare(folder / "out");
        // Every fifth one near the end, where names change.  Two runs of several threads differ by some calls.
        const std::size_t last = std::min<std::size_t>(stops, 24);
        const std::size_t stop = n % 5 != 4 ? random() % stops : stops - 1 - random() % last;
        killed += run_until_stop(write, folder.path(), temporary.path(), stop).killed;
        auto found = snapshot(folder.path());
        std::erase_if(found, [](const auto& entry) { return is_draft(entry.first); });
        kept_old += found == old;
        CHECK((found == old || found == written));
        fs::remove_all(folder / "out");
    }
    INFO("of " << stops << " stops; " << kept_old << " times the old one was there");
    CHECK(killed == kills);
    CHECK(kept_old >= kills / 5);
    write.prepare(folder / "out");
    CHECK(run_until_stop(write, folder.path(), temporary.path(), kNever).status == 0);
    CHECK(snapshot(folder.path()) == written);
}

}  // namespace locus::test

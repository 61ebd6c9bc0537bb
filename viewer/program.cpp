#include "viewer/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/check.h"
#include "core/io/printable.h"

extern char** environ;

namespace locus {

namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr int kSlice = 20;  // milliseconds between two questions whether to stop

using Clock = std::chrono::steady_clock;

/// One end to read what a child writes, and the other, which is the child's alone.
class Pipe {
public:
    Pipe() {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
    }
    ~Pipe() {
        close_reader();
        close_writer();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    bool good() const { return ends_[0] >= 0; }
    int reader() const { return ends_[0]; }
    int writer() const { return ends_[1]; }
    void close_reader() { close(ends_[0]); }
    void close_writer() { close(ends_[1]); }
    /// Adds what there is to `text`; closes itself when there will be nothing more.
    void read_into(std::string& text) {
        char buffer[1 << 16];
        const ssize_t count = ::read(ends_[0], buffer, sizeof buffer);
        if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
        if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) close_reader();
    }

private:
    static void close(int& end) {
        if (end >= 0) ::close(end);
        end = -1;
    }
    std::array<int, 2> ends_{-1, -1};
};

/// A child's process group, which ends with it.
class Child {
public:
    explicit Child(pid_t id) : id_(id) {}
    ~Child() {
        if (id_ > 0) wait();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// True once it has ended; it still is there to be waited for.
    bool has_ended() const {
        siginfo_t info;
        std::memset(&info, 0, sizeof info);
        return ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == id_;
    }
    /// Kills the group: what the child had started, and the child itself where it still runs.  Its exit status;
    /// 128 + the signal that ended it.
    int wait() {
        ::kill(-id_, SIGKILL);
        int status = 0;
        while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
        }
        id_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    pid_t id_;
};

/// Starts the program in a group of its own with every signal as it is at first; 0 and `id`, or what errno would be.
int spawn(const std::filesystem::path& file, const std::vector<std::string>& arguments, const Pipe& out,
          const Pipe& err, pid_t& id) {
    std::vector<std::string> words{file.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, out.writer(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, err.writer(), STDERR_FILENO);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int trouble = ::posix_spawn(&id, file.c_str(), &files, &attributes, argv.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    return trouble;
}

/// Reads whatever waits in the two pipes, at most `milliseconds` long.
void read_both(Pipe& out, Pipe& err, ProgramOutput& output, int milliseconds) {
    std::array<pollfd, 2> ends{pollfd{out.reader(), POLLIN, 0}, pollfd{err.reader(), POLLIN, 0}};
    if (::poll(ends.data(), ends.size(), milliseconds) <= 0) return;
    if (ends[0].revents != 0) out.read_into(output.out);
    if (ends[1].revents != 0) err.read_into(output.err);
}

std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of("\n\r ");
    if (end == std::string::npos) return "";
    const std::size_t before = text.find_last_of('\n', end);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    return text.substr(start, end - start + 1);
}

}  // namespace

std::string ProgramOutput::trouble(const std::string& name) const {
    if (succeeded()) return "";
    if (end == End::cancelled) return name + " was stopped";
    if (end == End::too_late) return name + " took too long and was stopped";
    if (end == End::too_long) return name + " wrote more than 256 MiB and was stopped";
    const std::string said = printable(last_line(err));
    if (status > 128) {
        const char* signal = ::strsignal(status - 128);
        return name + " was ended by signal " + std::to_string(status - 128) +
               (signal ? std::string(" (") + signal + ")" : "");
    }
    if (said.empty()) return name + " ended with status " + std::to_string(status) + " and said nothing";
    return said.starts_with("locus") ? said : name + ": " + said;
}

std::filesystem::path sibling_program(const std::string& name) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    const std::filesystem::path file = folder / name;
    if (error || ::access(file.c_str(), X_OK) != 0)
        throw Error(Fault::unsupported, "this needs the program " + name + ", expected it beside this one in " +
                                            printable(folder.string()) + ", where it is not");
    return file;
}

ProgramOutput run_program(const std::filesystem::path& file, const std::vector<std::string>& arguments,
                          const CancelToken& stop, double seconds) {
    Pipe out, err;
    pid_t id = -1;
    const int trouble = out.good() && err.good() ? spawn(file, arguments, out, err, id) : errno;
    if (trouble != 0 || id <= 0)
        throw Error(Fault::unreadable,
                    printable(file.string()) + ": cannot be started (" + std::strerror(trouble) + ")");
    Child child(id);
    out.close_writer();
    err.close_writer();
    const Clock::time_point start = Clock::now();
    ProgramOutput output;
    while (!child.has_ended()) {
        if (stop && stop()) {
            output.end = ProgramOutput::End::cancelled;
        } else if (std::chrono::duration<double>(Clock::now() - start).count() >= seconds) {
            output.end = ProgramOutput::End::too_late;
        } else if (output.out.size() + output.err.size() > kMostBytes) {
            output.end = ProgramOutput::End::too_long;
        } else {
            const bool closed = out.reader() < 0 && err.reader() < 0;
            read_both(out, err, output, closed ? 1 : kSlice);
            continue;
        }
        return output;
    }
    // What it wrote before it ended is in the pipes; what its own children would still write does not count.
    for (std::size_t before = 1, now = 0; before != now;) {
        before = output.out.size() + output.err.size();
        read_both(out, err, output, 0);
        now = output.out.size() + output.err.size();
    }
    output.status = child.wait();
    return output;
}

}  // namespace locus

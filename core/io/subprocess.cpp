#include "core/io/subprocess.h"

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
#include <string_view>

#include "core/check.h"
#include "core/io/input_file.h"

extern char** environ;

namespace locus {

namespace {

constexpr int kSlice = 20;  // milliseconds between two questions whether to stop

/// How a program is run, and when it is killed.
struct RunTerms {
    CancelToken stop;
    double seconds = std::numeric_limits<double>::infinity();
    std::size_t most_bytes = std::size_t{256} << 20;
    bool keeps_errors = true;   // standard error is kept; else it goes where ours goes
    bool until_closed = false;  // what the program started and left behind may still write
};

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

/// While it lives, SIGINT, SIGTERM and SIGHUP wait, so that no child is left running when one of them ends us.
class HeldSignals {
public:
    HeldSignals() {
        ::sigemptyset(&ends_);
        for (const int signal : kSignals) ::sigaddset(&ends_, signal);
        ::pthread_sigmask(SIG_BLOCK, &ends_, &before_);
    }
    ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    /// One of them has come that would end this process.
    bool one_waits() const {
        sigset_t waiting;
        if (::sigpending(&waiting) != 0) return false;
        return std::any_of(kSignals.begin(), kSignals.end(), [&](int signal) {
            return ::sigismember(&waiting, signal) == 1 && ::sigismember(&before_, signal) == 0;
        });
    }

private:
    static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
    sigset_t ends_, before_;
};

/// Starts the program in a group of its own with every signal as it is at first; 0 and `id`, or what errno would be.
/// `err` is nullptr where standard error goes where ours goes.
int spawn(const std::filesystem::path& file, const std::vector<std::string>& arguments, const Pipe& out,
          const Pipe* err, pid_t& id) {
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
    if (err) ::posix_spawn_file_actions_adddup2(&files, err->writer(), STDERR_FILENO);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int failure = ::posix_spawn(&id, file.c_str(), &files, &attributes, argv.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    return failure;
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

ProgramOutput run(const std::filesystem::path& file, const std::vector<std::string>& arguments, const RunTerms& terms) {
    Pipe out, err;
    pid_t id = -1;
    const int failure =
        out.good() && err.good() ? spawn(file, arguments, out, terms.keeps_errors ? &err : nullptr, id) : errno;
    if (failure != 0 || id <= 0)
        throw Error(Fault::unreadable,
                    printable(file.string()) + ": cannot be started (" + std::strerror(failure) + ")");
    Child child(id);
    out.close_writer();
    err.close_writer();
    if (!terms.keeps_errors) err.close_reader();
    const Clock::time_point start = Clock::now();
    ProgramOutput output;
    while (!child.has_ended() || (terms.until_closed && out.reader() >= 0)) {
        if (terms.stop && terms.stop()) {
            output.end = ProgramOutput::End::cancelled;
        } else if (std::chrono::duration<double>(Clock::now() - start).count() >= terms.seconds) {
            output.end = ProgramOutput::End::too_late;
        } else if (output.out.size() + output.err.size() > terms.most_bytes) {
            output.end = ProgramOutput::End::too_long;
        } else {
            const bool closed = out.reader() < 0 && err.reader() < 0;
            read_both(out, err, output, closed ? 1 : kSlice);
            continue;
        }
        return output;
    }
    // What it wrote before it ended stands in the pipes; what its own children would still write does not count.
    for (std::size_t before = 1, now = 0; before != now;) {
        before = output.out.size() + output.err.size();
        read_both(out, err, output, 0);
        now = output.out.size() + output.err.size();
    }
    output.status = child.wait();
    return output;
}

/// One word for /bin/sh, which need not know $'...'.
std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return result + "'";
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string shell_quoted(const std::string& word) {
    constexpr std::string_view kBare =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";  // never special
    if (!word.empty() && word.find_first_not_of(kBare) == std::string::npos) return word;
    const bool controls = std::any_of(word.begin(), word.end(), [](char c) { return is_control(c); });
    std::string quoted = controls ? "$'" : "'";
    for (const char c : word) {
        const auto byte = static_cast<unsigned char>(c);
        if (controls && (c == '\'' || c == '\\'))
            quoted += std::string("\\") + c;
        else if (is_control(c))
            quoted += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
                       static_cast<char>('0' + (byte & 7))};
        else
            quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return quoted + "'";
}

std::string ProgramOutput::error(const std::string& name) const {
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

ProgramOutput run_subprocess(const std::filesystem::path& file, const std::vector<std::string>& arguments,
                             const CancelToken& stop, double seconds) {
    RunTerms terms;
    terms.stop = stop;
    terms.seconds = seconds;
    return run(file, arguments, terms);
}

ProgramOutput run_shell_command(const std::string& command, const std::string& argument, double seconds) {
    const HeldSignals held;
    RunTerms terms;
    terms.stop = [&held] { return held.one_waits(); };
    terms.seconds = seconds;
    terms.most_bytes = std::size_t{1} << 30;
    terms.keeps_errors = false;
    terms.until_closed = true;
    return run("/bin/sh", {"-c", command + " " + quoted(argument)}, terms);
}

}  // namespace locus

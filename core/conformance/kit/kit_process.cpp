#include "core/conformance/kit/kit_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/check.h"
#include "core/io/input_file.h"

namespace locus::conformance {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kSlice = 50;  // milliseconds between two looks at pending signals

using Clock = std::chrono::steady_clock;

/// While it lives, SIGINT, SIGTERM and SIGHUP wait, so that nobody leaves a port running behind.
class HeldSignals {
public:
    HeldSignals() {
        sigemptyset(&ends_);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends_, signal);
        ::pthread_sigmask(SIG_BLOCK, &ends_, &before_);
    }
    ~HeldSignals() { release(); }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    void release() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    /// One of them has come that would end this process.
    bool one_waits() const {
        sigset_t waiting;
        if (::sigpending(&waiting) != 0) return false;
        for (const int signal : {SIGINT, SIGTERM, SIGHUP})
            if (sigismember(&waiting, signal) == 1 && sigismember(&before_, signal) == 0) return true;
        return false;
    }

private:
    sigset_t ends_, before_;
};

/// The shell's process group, killed unless it was waited for.
class Child {
public:
    Child(const std::string& line, const HeldSignals& held) {
        int ends[2];
        if (::pipe(ends) != 0) return;
        id_ = ::fork();
        if (id_ == 0) {
            ::setpgid(0, 0);
            held.release();
            const int nothing = ::open("/dev/null", O_RDONLY);
            if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
            ::dup2(ends[1], STDOUT_FILENO);
            for (const int end : ends) ::close(end);
            ::execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
            ::_exit(127);
        }
        if (id_ > 0) ::setpgid(id_, id_);  // whoever comes first
        ::close(ends[1]);
        output_ = ends[0];
    }
    ~Child() {
        if (output_ >= 0) ::close(output_);
        if (id_ <= 0) return;
        ::kill(-id_, SIGKILL);
        wait();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    bool runs() const { return id_ > 0; }
    int output() const { return output_; }
    /// Its exit status; 128 + the signal that ended it.
    int wait() {
        int status = 0;
        while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
        }
        id_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    /// True once it has ended; it still is there to be waited for.
    bool has_ended() const {
        siginfo_t info;
        std::memset(&info, 0, sizeof info);
        return ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == id_;
    }

private:
    pid_t id_ = -1;
    int output_ = -1;
};

std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return result + "'";
}

}  // namespace

PortOutput output_of(const std::string& command, const std::string& argument, double seconds) {
    const Clock::time_point last =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const HeldSignals held;
    Child child(command + " " + quoted(argument), held);
    if (!child.runs()) throw Error(Fault::unreadable, printable(command) + ": cannot be started");
    PortOutput output;
    char buffer[1 << 16];
    for (bool open = true; open || !child.has_ended();) {
        if (held.one_waits() || Clock::now() >= last) {
            output.end = PortOutput::End::too_late;
            return output;
        }
        pollfd waiting{child.output(), POLLIN, 0};
        if (::poll(&waiting, open ? 1 : 0, open ? kSlice : 1) <= 0) continue;
        const ssize_t count = ::read(child.output(), buffer, sizeof buffer);
        if (count > 0) output.bytes.append(buffer, static_cast<std::size_t>(count));
        open = count > 0 || (count < 0 && errno == EINTR);
        if (output.bytes.size() > kMostBytes) {
            output.end = PortOutput::End::too_long;
            return output;
        }
    }
    output.status = child.wait();
    return output;
}

}  // namespace locus::conformance

#include "tests/bench/cuda/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string_view>

#include "core/check.h"

extern char** environ;

namespace locus::bench {

namespace {

/// The process groups that run.  Global because the handler of a signal is given nothing else.
std::array<std::atomic<pid_t>, 128> running{};
static_assert(std::atomic<pid_t>::is_always_lock_free);

extern "C" void end_all(int signal) {
    for (const std::atomic<pid_t>& group : running)
        if (const pid_t one = group.load(); one != 0) kill(-one, SIGKILL);
    _exit(128 + signal);
}

/// Known to the handler while it lives.
class Running {
public:
    explicit Running(pid_t group) {
        for (std::atomic<pid_t>& one : running)
            if (pid_t none = 0; one.compare_exchange_strong(none, group)) {
                place_ = &one;
                return;
            }
    }
    ~Running() {
        if (place_) place_->store(0);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

private:
    std::atomic<pid_t>* place_ = nullptr;
};

double now_in_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Starts it in a process group of its own, so that what it starts can be ended with it.
pid_t start(const std::vector<std::string>& command, int output, bool with_errors) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    if (with_errors) posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t process = 0;
    const int failed = posix_spawnp(&process, words[0], &files, &attributes, words.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed == 0 ? process : 0;
}

/// Hands every piece of output to `take`; `limit` is how long this piece may take in seconds, 0: for ever.
Captured run(const std::vector<std::string>& command, bool with_errors, const std::function<double()>& limit,
             const std::function<void(std::string_view)>& take) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error(Fault::unreadable, command[0] + " cannot be started: no pipe");
    const double begin = now_in_seconds();
    const pid_t process = start(command, ends[1], with_errors);
    close(ends[1]);
    if (process == 0) {
        close(ends[0]);
        throw Error(Fault::unreadable, command[0] + " cannot be started");
    }
    const Running known(process);
    Captured ran;
    std::array<char, 4096> buffer;
    double waited_since = begin, patience = limit();
    for (;;) {
        const double left = patience > 0 ? patience - (now_in_seconds() - waited_since) : 3600;
        pollfd waiting{ends[0], POLLIN, 0};
        const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(std::min(left, 3600.0) * 1e3) + 1);
        if (ready == 0 && patience > 0 && now_in_seconds() - waited_since >= patience) {
            ran.timed_out = true;
            kill(-process, SIGKILL);
            break;
        }
        if (ready <= 0) continue;
        const ssize_t got = read(ends[0], buffer.data(), buffer.size());
        if (got <= 0) break;
        take({buffer.data(), static_cast<std::size_t>(got)});
        if (!with_errors) waited_since = now_in_seconds(), patience = limit();
    }
    close(ends[0]);
    int status = 0;
    waitpid(process, &status, 0);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.seconds = now_in_seconds() - begin;
    return ran;
}

}  // namespace

Captured capture(const std::vector<std::string>& command, double limit) {
    std::string text;
    Captured ran = run(
        command, true, [&] { return limit; }, [&](std::string_view piece) { text += piece; });
    ran.text = std::move(text);
    return ran;
}

Captured follow(const std::vector<std::string>& command, const std::function<double()>& limit,
                const std::function<void(const std::string&)>& line) {
    std::string text;
    Captured ran = run(command, false, limit, [&](std::string_view piece) {
        text += piece;
        for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
            line(text.substr(0, end));
    });
    ran.text = std::move(text);
    return ran;
}

void end_children_with_us() {
    for (const int one : {SIGTERM, SIGINT, SIGHUP}) std::signal(one, end_all);
}

}  // namespace locus::bench

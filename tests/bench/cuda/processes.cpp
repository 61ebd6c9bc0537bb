#include "tests/bench/cuda/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>

#include "core/check.h"

extern char** environ;

namespace locus::bench {

namespace {

double now_in_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Starts it in a process group of its own, so that what it starts can be ended with it.
pid_t start(const std::vector<std::string>& command, int output) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
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

}  // namespace

Captured capture(const std::vector<std::string>& command, double limit) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error(Fault::unreadable, command[0] + " cannot be started: no pipe");
    const double begin = now_in_seconds();
    const pid_t process = start(command, ends[1]);
    close(ends[1]);
    if (process == 0) {
        close(ends[0]);
        throw Error(Fault::unreadable, command[0] + " cannot be started");
    }
    Captured ran;
    std::array<char, 4096> buffer;
    for (;;) {
        const double left = limit > 0 ? limit - (now_in_seconds() - begin) : 3600;
        pollfd waiting{ends[0], POLLIN, 0};
        const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(std::min(left, 3600.0) * 1e3) + 1);
        if (ready == 0 && limit > 0 && now_in_seconds() - begin >= limit) {
            ran.timed_out = true;
            kill(-process, SIGKILL);
            break;
        }
        if (ready <= 0) continue;
        const ssize_t got = read(ends[0], buffer.data(), buffer.size());
        if (got <= 0) break;
        ran.text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    waitpid(process, &status, 0);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.seconds = now_in_seconds() - begin;
    return ran;
}

}  // namespace locus::bench

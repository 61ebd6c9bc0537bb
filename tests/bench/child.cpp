#include "tests/bench/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/check.h"
#include "tests/bench/bench.h"

extern char** environ;

namespace locus::bench {

ChildCost run_child(const std::vector<std::string>& command, const std::filesystem::path& output, int expected_status) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const double start = now();
    pid_t child = 0;
    int status = 0;
    rusage usage = {};
    posix_spawn_file_actions_t quiet;  // the table and the JSON of a benchmark stand alone on standard output
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT, 0600);
    const int spawned = posix_spawnp(&child, arguments[0], &quiet, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (spawned != 0 || wait4(child, &status, 0, &usage) < 0 || !WIFEXITED(status) ||
        WEXITSTATUS(status) != expected_status)
        throw Error(Fault::unreadable, "bench: " + command[0] + " did not run to its end");
    return {now() - start, static_cast<double>(usage.ru_maxrss) * 1024 / 1e6};
}

std::filesystem::path program_beside(const std::string& name) {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace locus::bench

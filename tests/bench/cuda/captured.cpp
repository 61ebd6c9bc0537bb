#include "tests/bench/cuda/captured.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "core/check.h"

namespace locus::bench {

Captured capture(const std::vector<std::string>& command) {
    std::string line;
    for (const std::string& word : command) {
        line += '\'';
        for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += "' ";
    }
    std::FILE* pipe = popen((line + "2>&1").c_str(), "r");
    if (!pipe) throw Error(Fault::unreadable, command[0] + " cannot be started");
    Captured ran;
    std::array<char, 4096> buffer;
    for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        ran.text.append(buffer.data(), got);
    const int status = pclose(pipe);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ran;
}

}  // namespace locus::bench

#include "tests/bench/peer.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "core/check.h"
#include "core/fast/simd_kernels.h"

extern char** environ;

namespace locus::bench {

namespace {

/// Beside the program where it was carried elsewhere, else where it was built from.
const std::filesystem::path& script() {
    static const std::filesystem::path path = [] {
        const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "peers.py";
        return std::filesystem::exists(beside) ? beside : std::filesystem::path(LOCUS_TESTS) / "bench" / "peers.py";
    }();
    return path;
}

std::string read_line(std::FILE* stream) {
    std::string line;
    for (int c = std::fgetc(stream); c != EOF && c != '\n'; c = std::fgetc(stream)) line += static_cast<char>(c);
    return line;
}

}  // namespace

std::string default_python() {
    const std::filesystem::path own = std::filesystem::path(LOCUS_TESTS).parent_path() / "build/peers/bin/python";
    return std::filesystem::exists(own) ? own.string() : "python3";
}

Peer::Peer(const std::string& python, const std::string& package) {
    std::signal(SIGPIPE, SIG_IGN);  // a peer that ended is an answer, not the end of this program
    int to_peer[2], from_peer[2];
    if (pipe2(to_peer, O_CLOEXEC) != 0 || pipe2(from_peer, O_CLOEXEC) != 0)
        throw Error(Fault::unreadable, "bench: no pipe to " + python);
    posix_spawn_file_actions_t ends;
    posix_spawn_file_actions_init(&ends);
    posix_spawn_file_actions_adddup2(&ends, to_peer[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&ends, from_peer[1], STDOUT_FILENO);
    std::string program = python, file = script().string(), verb = "serve", option = "--package", name = package;
    char* arguments[] = {program.data(), file.data(), verb.data(), option.data(), name.data(), nullptr};
    const int spawned = posix_spawnp(&process_, arguments[0], &ends, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&ends);
    close(to_peer[0]);
    close(from_peer[1]);
    requests_ = fdopen(to_peer[1], "w");
    answers_ = fdopen(from_peer[0], "r");
    if (spawned != 0) process_ = 0;
    if (process_ == 0) {
        missing_ = "there is no program " + python;
        return;
    }
    std::fputs("{\"do\": \"versions\"}\n", requests_);
    std::fflush(requests_);
    const nlohmann::json answer = nlohmann::json::parse(read_line(answers_), nullptr, false);
    if (answer.is_discarded())
        missing_ = python + " did not run " + file;
    else if (answer.contains(package))
        for (const auto& [one, version] : answer.items())
            versions_ += (versions_.empty() ? "" : ", ") + one + " " + version.get<std::string>();
    else
        missing_ = answer.value("missing", answer.value("error", std::string("no answer")));
}

Peer::~Peer() {
    std::fclose(requests_);  // the end of its input ends the peer
    std::fclose(answers_);
    if (process_ != 0) waitpid(process_, nullptr, 0);
}

nlohmann::json Peer::ask(const nlohmann::json& request, int seconds) {
    std::fputs((request.dump() + "\n").c_str(), requests_);
    std::fflush(requests_);
    // An answer is one line and nothing is left of the one before, so what is waited for is in the pipe.
    pollfd waiting{fileno(answers_), POLLIN, 0};
    if (seconds > 0 && poll(&waiting, 1, seconds * 1000) == 0) {
        ended_ = true;
        kill(process_, SIGKILL);
        throw Error(Fault::unreadable, "bench: the peer did not answer within " + std::to_string(seconds) + " seconds");
    }
    const nlohmann::json answer = nlohmann::json::parse(read_line(answers_), nullptr, false);
    if (answer.is_discarded()) {
        ended_ = true;
        throw Error(Fault::unreadable, "bench: the peer ended instead of answering");
    }
    if (answer.contains("error"))
        throw Error(Fault::unreadable, "bench: the peer says " + answer["error"].get<std::string>());
    return answer;
}

Way peer_way(Peer& peer, const std::string& name) {
    return {name, [&peer, name] {
                const nlohmann::json answer = peer.ask({{"do", "run"}, {"peer", name}});
                return Spent{answer["ms"], answer["processor_ms"]};
            }};
}

std::unique_ptr<Peer> open_peer(const Options& options, const std::string& package) {
    if (std::find(options.against.begin(), options.against.end(), package) == options.against.end()) return nullptr;
    auto peer = std::make_unique<Peer>(options.python.empty() ? default_python() : options.python, package);
    if (peer->missing().empty()) {
        std::cerr << "locus bench: " << peer->versions() << "; our kernels: " << best_simd_kernels<float>().name
                  << std::endl;
        return peer;
    }
    std::cerr << "locus bench: " << peer->missing() << "; " << package
              << " is not measured. python3 tests/bench/peers.py setup build/peers --for " << package
              << " brings it, or name a Python that has it with --python.\n";
    return nullptr;
}

}  // namespace locus::bench

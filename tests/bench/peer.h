#pragma once
// A program that does the same work by other means, in a process of its own, asked call by call.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/rounds.h"

namespace locus::bench {

/// tests/bench/peers.py under some Python.  One request at a time.
class Peer {
public:
    /// Throws Error(unreadable) if there is no pipe; missing() says what keeps the interpreter or the package from
    /// starting.
    /// `package`: what it computes with, "torch", "onnxruntime" or "openvino".
    explicit Peer(const std::string& python, const std::string& package = "torch");
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Sends one request and waits for its answer, so many seconds at most; 0: for ever.  Who does not answer in time
    /// is ended.  Throws Error(unreadable) with the peer's own sentence.
    nlohmann::json ask(const nlohmann::json& request, int seconds = 0);
    /// Whether it can be asked: it started, and has not ended since.
    bool runs() const { return process_ != 0 && missing_.empty() && !ended_; }
    /// What keeps it from working ("No module named 'torch'"); empty if nothing does.
    const std::string& missing() const { return missing_; }
    /// "torch 2.15.0, transformers 5.23.0"
    const std::string& versions() const { return versions_; }

private:
    std::FILE *requests_ = nullptr, *answers_ = nullptr;
    int process_ = 0;
    bool ended_ = false;
    std::string missing_, versions_;
};

/// The peer that was asked for; none where it was not, or where its package is missing, which is said on stderr.
std::unique_ptr<Peer> open_peer(const Options& options, const std::string& package);

/// A call of the peer, timed there.
Way peer_way(Peer& peer, const std::string& name);

/// The interpreter of the venv that `peers.py setup build/peers` makes, if it is there, else "python3".
std::string default_python();

}  // namespace locus::bench

#include "tests/bench/cuda/against_peers.h"

#include <algorithm>
#include <fstream>
#include <future>

#include "core/io/atomic_file.h"

namespace locus::bench {

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// What a peer wrote: raw float32, a file for each name.
HeadRows<float> read_taken(const fs::path& file, const ordered_json& names) {
    HeadRows<float> found;
    for (const std::string name : names) {
        const fs::path one = file.string() + "." + name;
        std::vector<float>& rows = found[name];
        rows.resize(static_cast<std::size_t>(fs::file_size(one)) / sizeof(float));
        std::ifstream(one, std::ios::binary)
            .read(reinterpret_cast<char*>(rows.data()), static_cast<std::streamsize>(rows.size() * sizeof(float)));
    }
    return found;
}

/// Peer n made ready by `request`.  Throws where it ends or answers what is no answer.
TimedWay opened(Peers& peers, std::size_t n, const ordered_json& request,
                const std::map<std::string, std::uint32_t>& sums, Index which, const HeadRows<double>& truth) {
    TimedWay way;
    way.row = {{"name", kPeers[n]}};
    const int seconds = peers.to_open();
    Peer& peer = peers.at(n);
    const ordered_json answer = peer.ask(request, seconds);
    if (answer.contains("refused")) {
        way.refuse(answer["refused"]);
        return way;
    }
    for (const auto& [tensor, sum] : sums)
        if (answer["checksums"].value(tensor, 0u) != sum) {
            way.refuse("its " + tensor + " is not the one that was written: the checksums differ");
            return way;
        }
    way.row["how"] = answer["how"];
    if (answer.contains("same_bits")) way.row["same_bits"] = answer["same_bits"];
    const ScratchFolder folder("taken");
    const fs::path file = folder / "found";
    const ordered_json taken = peer.ask({{"do", "take"}, {"which", which}, {"file", file.string()}}, kToCall);
    way.row["error"] = relative_error(read_taken(file, taken["tensors"]), truth);
    way.row["positions"] = kPeers[n] != kWithoutPositions;
    way.call = [&peers, n] {
        try {
            return peers.at(n).ask({{"do", "call"}}, kToCall)["ms"].get<double>();
        } catch (...) {
            peers.end(n);
            throw;
        }
    };
    return way;
}

}  // namespace

Peers::Peers(const std::string& python, double seconds) : python_(python), end_(now() + seconds) {
    std::vector<std::future<std::unique_ptr<Peer>>> starting;
    for (std::size_t n = 0; n < kPeers.size(); ++n)
        starting.push_back(std::async(std::launch::async, [&] { return std::make_unique<Peer>(python_); }));
    for (auto& one : starting) peers_.push_back(one.get());
}

void Peers::rest() {
    for (auto& one : peers_) try {
            if (one && one->runs()) one->ask({{"do", "close"}}, kToCall);
        } catch (const Error&) {
            one.reset();
        }
}

void Peers::end(std::size_t n) { peers_[n].reset(); }

Peer& Peers::at(std::size_t n) {
    if (!peers_[n] || !peers_[n]->runs()) peers_[n] = std::make_unique<Peer>(python_);
    if (!peers_[n]->runs()) throw Error(Fault::unreadable, peers_[n]->missing());
    return *peers_[n];
}

int Peers::to_open() const {
    const double left = end_ - now();
    if (left < 1) throw Error(Fault::unreadable, "the time of this part was over");
    return static_cast<int>(std::min<double>(left, kToOpen));
}

ordered_json with_ways(ordered_json row, const std::vector<TimedWay>& ways) {
    row["ways"] = ordered_json::array();
    for (const TimedWay& way : ways) row["ways"].push_back(way.row);
    return row;
}

TimedWay open_peer_way(Peers& peers, std::size_t n, ordered_json request,
                       const std::map<std::string, std::uint32_t>& sums, Index which, const HeadRows<double>& truth) {
    request["peer"] = kPeers[n];
    const bool graphs = request["device"] == "cuda" && !request.value("backward", false);
    const double start = now();
    TimedWay failed;
    failed.row = {{"name", kPeers[n]}};
    try {
        return opened(peers, n, request, sums, which, truth);
    } catch (const std::exception& error) {
        failed.refuse(error.what());
        peers.end(n);
    }
    if (!graphs || now() - start > kToCall) return failed;  // who hung would hang again
    try {
        request["graphs"] = false;
        TimedWay way = opened(peers, n, request, sums, which, truth);
        if (way.call)
            way.row["how"] =
                way.row["how"].get<std::string>() + ", no CUDA graph: " + failed.row["not_measured"].get<std::string>();
        return way;
    } catch (const std::exception&) {
        peers.end(n);
        return failed;
    }
}

void time_ways(std::vector<TimedWay>& ways) {
    constexpr int kLeast = 7, kMost = 50;
    constexpr double kEnough = 2;
    const double start = now();
    for (int round = 0; round < kLeast || (round < kMost && now() - start < kEnough); ++round)
        for (TimedWay& way : ways) {
            if (!way.call) continue;
            try {
                way.call();  // the others had the device; the first round warms up altogether
                const double ms = way.call();
                if (round > 0) way.times.push_back(ms);
            } catch (const Error& error) {
                way.refuse(error.what());
            }
        }
    for (TimedWay& way : ways) {
        if (!way.call || way.times.empty()) continue;
        std::sort(way.times.begin(), way.times.end());
        way.row["ms"] = way.times[way.times.size() / 2];
        way.row["ms_fastest"] = way.times.front();
        way.row["ms_slowest"] = way.times.back();
    }
}

}  // namespace locus::bench

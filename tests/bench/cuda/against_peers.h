#pragma once
// The peers of locus-bench-cuda: a process for each, and how all who work on one problem are timed in turn.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/cuda/against_problem.h"
#include "tests/bench/peer.h"

namespace locus::bench {

inline constexpr int kToOpen = 400, kToCall = 120;  // seconds; what opens compiles and tunes
inline const std::string kWithoutPositions = "SDPA, no position";
inline const std::vector<std::string> kPeers = {"Hugging Face eager", "torch.compile",   "flashdeberta",
                                                "disentangled-flash", kWithoutPositions, "FlexAttention"};

/// A process for each of kPeers.  One that ended is started again for the next problem.
class Peers {
public:
    /// No peer is waited for after so many seconds.
    Peers(const std::string& python, double seconds);
    /// Everyone frees what the last problem took.
    void rest();
    /// Ends its process; at() starts another.
    void end(std::size_t n);
    /// Throws Error(unreadable) with what keeps it from starting.
    Peer& at(std::size_t n);
    /// Seconds that one may take to open a problem.  Throws Error(unreadable) where none are left.
    int to_open() const;

private:
    std::string python_;
    double end_;
    std::vector<std::unique_ptr<Peer>> peers_;  // null: ended
};

/// Who is timed: a row of the table that grows.
struct TimedWay {
    nlohmann::ordered_json row;
    std::function<double()> call;  // milliseconds; empty: it is not measured
    std::vector<double> times;

    void refuse(const std::string& why) {
        row["not_measured"] = why;
        call = nullptr;
    }
};

/// kPeers[n] made ready by `request`, and its error from `truth` in part `which` ("take" gives it).  Not measured where
/// it refuses or ends, and where a tensor that arrived has another checksum than in `sums`.  A forward pass that fails
/// is asked for once more, in a new process and without a CUDA graph; "how" then says why.
TimedWay open_peer_way(Peers& peers, std::size_t n, nlohmann::ordered_json request,
                       const std::map<std::string, std::uint32_t>& sums, Index which, const HeadRows<double>& truth);

/// The row with what is known of these ways.
nlohmann::ordered_json with_ways(nlohmann::ordered_json row, const std::vector<TimedWay>& ways);

/// Medians of each way over rounds in which all take their turn.
void time_ways(std::vector<TimedWay>& ways);

}  // namespace locus::bench

#pragma once
// Several ways of one computation, timed in turn so that all meet the same machine.
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/peer.h"

namespace locus::bench {

struct Way {
    std::string name;
    std::function<double()> milliseconds;  // one call, timed by whoever makes it
    double error = -1;                     // largest difference from float64; below 0: not known
};

/// Our own call, timed here.
Way our_way(const std::string& name, std::function<void()> call);
/// A call of the peer, timed there.
Way peer_way(Peer& peer, const std::string& name);

/// Median milliseconds of each way: at least `least` rounds over all of them, more while `seconds` are not spent.
std::vector<double> time_in_turn(const std::vector<Way>& ways, int least, double seconds);

}  // namespace locus::bench

#pragma once
// Several ways of one computation, timed in turn so that all meet the same machine.
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/peer.h"

namespace locus::bench {

/// Milliseconds of one call: by the clock, and of processor time, which a busy machine disturbs far less.
struct Spent {
    double wall = 0, processor = 0;
};

struct Way {
    std::string name;
    std::function<Spent()> call;  // one call, timed by whoever makes it
    double error = -1;            // largest difference from float64; below 0: not known
};

/// Our own call, timed here.
Way our_way(const std::string& name, std::function<void()> call);
/// A call of the peer, timed there.
Way peer_way(Peer& peer, const std::string& name);

/// Medians of each way: at least `least` rounds over all of them, more while `seconds` are not spent.  In its turn a
/// way is called twice, and the second call is timed.
std::vector<Spent> time_in_turn(const std::vector<Way>& ways, int least, double seconds);

}  // namespace locus::bench

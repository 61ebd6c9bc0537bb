#pragma once
// Several ways of one computation, timed in turn so that all meet the same machine.
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/bench.h"

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

/// What every way took in every round.
class Rounds {
public:
    explicit Rounds(std::size_t ways) : spent_(ways) {}
    void add(std::size_t way, const Spent& spent) { spent_[way].push_back(spent); }
    Spent median(std::size_t way) const;
    /// How many times longer one takes than the other: the median over rounds, for the two meet nearly the same machine
    /// within a round, and another one an hour later.
    Spent ratio(std::size_t longer, std::size_t shorter) const;

private:
    std::vector<std::vector<Spent>> spent_;
};

/// At least `least` rounds over all ways, more while `seconds` are not spent.  In its turn a way is called once or for
/// 20 ms to warm up, and then once timed.
Rounds time_in_turn(const std::vector<Way>& ways, int least, double seconds);

}  // namespace locus::bench

#include "tests/bench/rounds.h"

#include <unistd.h>

namespace locus::bench {

Way our_way(const std::string& name, std::function<void()> call) {
    return {name, [call = std::move(call)] {
                const double start = now();
                call();
                return (now() - start) * 1e3;
            }};
}

Way peer_way(Peer& peer, const std::string& name) {
    return {name, [&peer, name] {
                const double spent = peer.ask({{"do", "run"}, {"peer", name}})["ms"];
                usleep(20'000);  // its threads spin a while before they sleep; the next way shall have the processor
                return spent;
            }};
}

std::vector<double> time_in_turn(const std::vector<Way>& ways, int least, double seconds) {
    std::vector<std::vector<double>> times(ways.size());
    for (const Way& way : ways) way.milliseconds();
    const double start = now();
    for (int round = 0; round < least || (round < 101 && now() - start < seconds); ++round)
        for (std::size_t n = 0; n < ways.size(); ++n) times[n].push_back(ways[n].milliseconds());
    std::vector<double> medians;
    for (const std::vector<double>& way : times) medians.push_back(median(way));
    return medians;
}

}  // namespace locus::bench

#include "tests/bench/rounds.h"

#include <unistd.h>

#include <ctime>

namespace locus::bench {

namespace {

double processor_seconds() {
    timespec spent = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

}  // namespace

Way our_way(const std::string& name, std::function<void()> call) {
    return {name, [call = std::move(call)] {
                const double start = now(), processor = processor_seconds();
                call();
                return Spent{(now() - start) * 1e3, (processor_seconds() - processor) * 1e3};
            }};
}

Way peer_way(Peer& peer, const std::string& name) {
    return {name, [&peer, name] {
                const nlohmann::json answer = peer.ask({{"do", "run"}, {"peer", name}});
                return Spent{answer["ms"], answer["processor_ms"]};
            }};
}

std::vector<Spent> time_in_turn(const std::vector<Way>& ways, int least, double seconds) {
    std::vector<std::vector<double>> wall(ways.size()), processor(ways.size());
    const double start = now();
    for (int round = 0; round < least || (round < 101 && now() - start < seconds); ++round)
        for (std::size_t n = 0; n < ways.size(); ++n) {
            // Wakes its threads, lets them find processors of their own, and brings its tensors near.
            const double warm = now() + 0.02;
            do ways[n].call();
            while (now() < warm);
            const Spent spent = ways[n].call();
            wall[n].push_back(spent.wall);
            processor[n].push_back(spent.processor);
            usleep(20'000);  // threads may spin a while before they sleep; the next way shall have the processor
        }
    std::vector<Spent> medians;
    for (std::size_t n = 0; n < ways.size(); ++n) medians.push_back({median(wall[n]), median(processor[n])});
    return medians;
}

}  // namespace locus::bench

#include "tests/bench/rounds.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace locus::bench {

namespace {

double processor_seconds() {
    timespec spent = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

Way our_way(const std::string& name, std::function<void()> call) {
    return {name, [call = std::move(call)] {
                const double start = now(), processor = processor_seconds();
                call();
                return Spent{(now() - start) * 1e3, (processor_seconds() - processor) * 1e3};
            }};
}

Spent Rounds::median(std::size_t way) const {
    std::vector<double> wall, processor;
    for (const Spent& one : spent_[way]) wall.push_back(one.wall), processor.push_back(one.processor);
    return {bench::median(wall), bench::median(processor)};
}

Spent Rounds::ratio(std::size_t longer, std::size_t shorter) const {
    std::vector<double> wall, processor;
    for (std::size_t round = 0; round < spent_[longer].size(); ++round) {
        const Spent &a = spent_[longer][round], &b = spent_[shorter][round];
        wall.push_back(a.wall / b.wall);
        processor.push_back(a.processor / b.processor);
    }
    return {bench::median(wall), bench::median(processor)};
}

Rounds time_in_turn(const std::vector<Way>& ways, int least, double seconds) {
    Rounds rounds(ways.size());
    const double start = now();
    for (int round = 0; round < least || (round < 101 && now() - start < seconds); ++round)
        for (std::size_t n = 0; n < ways.size(); ++n) {
            // Wakes its threads, lets them find processors of their own, and brings its tensors near.
            const double warm = now() + 0.02;
            do ways[n].call();
            while (now() < warm);
            rounds.add(n, ways[n].call());
            usleep(20'000);  // threads may spin a while before they sleep; the next way shall have the processor
        }
    return rounds;
}

}  // namespace locus::bench

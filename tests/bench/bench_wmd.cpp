#include "core/text/statistics/word_movers.h"
#include "tests/bench/bench.h"

namespace locus::bench::wmd {

namespace {

constexpr Index kWords = 60, kWidth = 300;

/// A document of distinct words, each met once to four times, at random places.
PlacedWords random_document() {
    PlacedWords document;
    for (Index n = 0; n < kWords; ++n) document.words.push_back({"word " + std::to_string(n), 1 + n % 4});
    document.vectors = Matrix<double>::Random(kWords, kWidth);
    return document;
}

}  // namespace

void measure(Measures& measures) {
    std::vector<double> exact, relaxed;
    for (int round = 0; round < 51; ++round) {
        const PlacedWords a = random_document(), b = random_document();
        double start = now();
        const double distance = word_movers_distance(a, b).distance;
        exact.push_back((now() - start) * 1e3);
        start = now();
        const double bound = relaxed_word_movers_distance(a, b).larger();
        relaxed.push_back((now() - start) * 1e3);
        LOCUS_CHECK(bound <= distance * (1 + 1e-12), "bench wmd: the relaxed distance is above the exact one");
    }
    measures.add({{"exact, by minimum-cost flow", median(exact), "ms", 20, false},
                  {"relaxed, both ways", median(relaxed), "ms", 0, true}});
}

}  // namespace locus::bench::wmd

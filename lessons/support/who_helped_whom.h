#pragma once
// Sentences that say who helped whom twice, the second time in passive voice and with blanks for the names: words alone
// cannot fill them, order can.
#include <array>
#include <vector>

#include "core/training/batch.h"
#include "core/training/random.h"

namespace locus::lesson {

/// Words: 0 padding, 1 [MASK], 2 so, 3 was, 4 by, then ten names, tom to ella, and three verbs.
inline constexpr Index kFirst = 5, kNames = 10, kVerbs = 3, kWords = kFirst + kNames + kVerbs, kTokens = 9;

/// "x helped y so [MASK] was helped by [MASK]" for each {x, verb, y}; the targets are y and x.
inline PackedBatch batch_of(const std::vector<std::array<Index, 3>>& sentences) {
    PackedBatch batch{{}, {0}, {}, {}, {}, {}};
    for (const auto& [x, v, y] : sentences) {
        const Index a = kFirst + x, verb = kFirst + kNames + v, b = kFirst + y;
        const Index words[kTokens] = {a, verb, b, 2, 1, 3, verb, 4, 1}, labels[kTokens] = {0, 0, 0, 0, b, 0, 0, 0, a};
        batch.tokens.insert(batch.tokens.end(), words, words + kTokens);
        batch.labels.insert(batch.labels.end(), labels, labels + kTokens);
        batch.starts.push_back(batch.rows());
    }
    return batch;
}

/// Every fifth pair of names is met by no learner.
inline bool is_kept_back(Index x, Index y) { return (x + y) % 5 == 0; }

/// Those pairs in both orders; or the same sentences with each pair the other way round.
inline PackedBatch kept_back(bool turned) {
    std::vector<std::array<Index, 3>> sentences;
    for (Index x = 0; x < kNames; ++x)
        for (Index y = 0; y < kNames; ++y)
            if (x != y && is_kept_back(x, y)) sentences.push_back({turned ? y : x, x * y % kVerbs, turned ? x : y});
    return batch_of(sentences);
}

/// 16 sentences for one step, the same ones for every learner.
inline PackedBatch sentences_of_step(Index step) {
    RandomStream random(1, 1 + static_cast<std::uint64_t>(step));
    const auto draw = [&](Index bound) {
        return static_cast<Index>(random.next_below(static_cast<std::uint64_t>(bound)));
    };
    std::vector<std::array<Index, 3>> sentences;
    while (sentences.size() < 16) {
        const Index x = draw(kNames), verb = draw(kVerbs), y = draw(kNames);
        if (x != y && !is_kept_back(x, y)) sentences.push_back({x, verb, y});
    }
    return batch_of(sentences);
}

}  // namespace locus::lesson

#pragma once
// A model small enough to be trained while lesson 29 is read: weights, optimiser, a step; and the sentences it learns.
#include <array>
#include <vector>

#include "core/training/adamw.h"
#include "core/training/batch.h"
#include "core/training/masked_words.h"
#include "core/training/parameters.h"
#include "core/training/random.h"

namespace locus::lesson {

/// In double precision and without dropout: the same numbers on every machine, but for their last digits.
struct SmallLearner {
    /// Fresh weights, normal with 0.02.
    SmallLearner(const DebertaConfig& config, ThreadPool& team)
        : pool(team), model(config, {}, team), values(masked_language_tensors(config, true)), adam(values, {}) {
        RandomStream random(1, 0);
        initialise(values, random);
    }
    /// Of the mean masked-word loss; `stages` receives grad.<stage> where its filter wants any.
    Parameters<double> gradients(const PackedBatch& batch, Trace* stages = nullptr) {
        Parameters<double> sum = values.zeros();
        masked_language_step<double>(model, values, batch, Dropout(), sum, stages);
        return sum;
    }
    /// One step of AdamW; the gradient is 1 long at most.
    void learn(const PackedBatch& batch, double rate) {
        Parameters<double> way = gradients(batch);
        clip_gradients(way, 1.0);
        adam.step(values, way, rate, pool);
    }
    /// What every layer makes of the sentences.
    DebertaTape<double> look(const PackedBatch& batch) {
        return model.forward(values, batch, model.embedding_sum(values, batch), Dropout());
    }
    /// What it puts at the targets.
    MaskedWordsTape<double> guess(const PackedBatch& batch) {
        return masked_words_forward<double>(model, values, batch, *look(batch).output);
    }
    /// The mean loss at the targets.
    double loss(const PackedBatch& batch) { return mean_loss(guess(batch).losses); }

    ThreadPool& pool;
    DebertaTraining<double> model;
    Parameters<double> values;
    AdamW<double> adam;
};

// --- the sentences ---------------------------------------------------------------------------------------------------
// Sentences that say who helped whom twice, the second time in passive voice and with blanks for the names: words alone
// cannot fill them, order can.

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
inline PackedBatch kept_back(bool swapped) {
    std::vector<std::array<Index, 3>> sentences;
    for (Index x = 0; x < kNames; ++x)
        for (Index y = 0; y < kNames; ++y)
            if (x != y && is_kept_back(x, y)) sentences.push_back({swapped ? y : x, x * y % kVerbs, swapped ? x : y});
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

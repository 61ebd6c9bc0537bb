#pragma once
// A model small enough to be trained while somebody reads: weights, optimiser, and a step.
#include "core/training/adamw.h"
#include "core/training/parameters.h"
#include "core/training/masked_words.h"

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

}  // namespace locus::lesson

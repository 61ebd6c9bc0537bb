#pragma once
// A model small enough for difference quotients of every parameter, and a batch for it.
#include <random>

#include "core/training/masked_words.h"
#include "core/training/parameters.h"
#include "tests/random_model.h"

namespace locus::test {

/// Normal with deviation 0.4.
template <class Scalar>
Parameters<Scalar> random_parameters(const TensorShapes& tensors, unsigned seed) {
    Parameters<Scalar> values(tensors);
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal(0, 0.4);
    for (Index n = 0; n < values.size(); ++n) values.numbers()[n] = Scalar(normal(generator));
    return values;
}

template <class Scalar>
struct SmallTraining {
    SmallTraining(DebertaConfig configuration, bool decoder)
        : config(std::move(configuration)),
          values(random_parameters<Scalar>(masked_language_tensors(config, decoder), 3)) {}
    /// The loss, and its gradient where somebody wants it.
    double loss(const PackedBatch& batch, const Dropout& dropout, Parameters<Scalar>* gradients = nullptr,
                bool decoder = true, bool checkpointing = false, int threads = 1) const {
        ThreadPool pool(threads);
        DebertaTraining<Scalar> model(config, {decoder, checkpointing}, pool);
        Parameters<Scalar> ignored;
        return mean_loss(
            masked_language_step<Scalar>(model, values, batch, dropout, gradients ? *gradients : ignored).losses);
    }
    DebertaConfig config;
    Parameters<Scalar> values;
};

/// Three sentences of different lengths; some tokens are targets.
inline PackedBatch uneven_batch() {
    PackedBatch batch;
    batch.tokens = {1, 5, 36, 7, 2, 1, 9, 2, 1, 30, 11, 12, 36, 14, 2};
    batch.labels = {0, 0, 6, 7, 0, 0, 9, 0, 0, 0, 11, 0, 13, 0, 0};
    batch.starts = {0, 5, 8, 15};
    return batch;
}

inline DebertaConfig bucketed_config() {
    DebertaConfig config = small_config();
    config.position_buckets = 4;
    config.max_relative_positions = 16;
    config.share_att_key = true;
    return config;
}

}  // namespace locus::test

// What must hold of a training step whatever the weights are.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "core/training/adamw.h"
#include "core/training/classification.h"
#include "core/training/deberta_parameters.h"
#include "core/training/replaced_tokens.h"
#include "core/training/sift.h"
#include "tests/random_model.h"

using namespace locus;
using namespace locus::test;

namespace {

template <class Scalar>
struct SmallTraining {
    SmallTraining(DebertaConfig configuration, bool decoder, unsigned seed = 3)
        : config(std::move(configuration)), values(masked_language_tensors(config, decoder)) {
        std::mt19937 generator(seed);
        std::normal_distribution<double> normal(0, 0.4);
        for (Index n = 0; n < values.size(); ++n) values.numbers()[n] = Scalar(normal(generator));
    }
    /// The loss, and its gradient where somebody wants it.
    double loss(const PackedBatch& batch, const Dropout& dropout, Parameters<Scalar>* gradients = nullptr,
                bool decoder = true, bool checkpointing = false, int threads = 1) const {
        Workers workers(threads);
        DebertaTraining<Scalar> model(config, {decoder, checkpointing}, workers);
        Parameters<Scalar> ignored;
        return masked_language_step<Scalar>(model, values, batch, dropout, gradients ? *gradients : ignored);
    }
    DebertaConfig config;
    Parameters<Scalar> values;
};

/// Three sentences of different lengths; some tokens are targets.
PackedBatch uneven_batch() {
    PackedBatch batch;
    batch.tokens = {1, 5, 36, 7, 2, 1, 9, 2, 1, 30, 11, 12, 36, 14, 2};
    batch.labels = {0, 0, 6, 7, 0, 0, 9, 0, 0, 0, 11, 0, 13, 0, 0};
    batch.starts = {0, 5, 8, 15};
    return batch;
}

template <class Scalar>
bool same_bits(const Parameters<Scalar>& a, const Parameters<Scalar>& b) {
    return a.size() == b.size() && std::memcmp(a.numbers().data(), b.numbers().data(),
                                               static_cast<std::size_t>(a.size()) * sizeof(Scalar)) == 0;
}

DebertaConfig bucketed_config() {
    DebertaConfig config = small_config();
    config.position_buckets = 4;
    config.max_relative_positions = 16;
    config.share_att_key = true;
    return config;
}

/// Position projections of their own, positions with the embeddings, types, E below D, a convolution with tanh.
DebertaConfig other_config() {
    DebertaConfig config = small_config();
    config.share_att_key = false;
    config.position_biased_input = true;
    config.embedding_size = 8;
    config.type_vocab_size = 2;
    config.conv_kernel_size = 3;
    config.norm_rel_ebd = false;
    config.hidden_act = Activation::gelu_tanh;
    return config;
}

/// BERT: no distances, positions with the embeddings.
DebertaConfig absolute_config() {
    DebertaConfig config = small_config();
    config.relative_attention = config.norm_rel_ebd = false;
    config.terms = {false, false, false};
    config.position_biased_input = true;
    return config;
}

}  // namespace

TEST_CASE("training: gradients are central differences of the loss, dropout included", "[training][law]") {
    const int kind = GENERATE(0, 1, 2, 3);
    const bool decoder = kind == 0;
    DebertaConfig config = kind == 1 ? other_config() : kind == 3 ? absolute_config() : bucketed_config();
    if (kind == 2) config.terms.c2p = false;
    SmallTraining<double> small(config, decoder);
    PackedBatch batch = uneven_batch();
    if (kind == 1) batch.types = {0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0};
    const Dropout dropout{11, 0.2, 0.25};
    Parameters<double> gradients = small.values.zeros();
    small.loss(batch, dropout, &gradients, decoder);
    std::mt19937 generator(5);
    for (const auto& entry : small.values.entries()) {
        INFO(kind << " " << entry.name);
        for (int draw = 0; draw < 3; ++draw) {
            const Index at = entry.first + static_cast<Index>(generator() % static_cast<unsigned>(entry.size));
            // The lookups of word 0 get no gradient; it stands nowhere in the batch.
            const double kept = small.values.numbers()[at], step = 1e-6;
            small.values.numbers()[at] = kept + step;
            const double above = small.loss(batch, dropout, nullptr, decoder);
            small.values.numbers()[at] = kept - step;
            const double below = small.loss(batch, dropout, nullptr, decoder);
            small.values.numbers()[at] = kept;
            CHECK(std::abs((above - below) / (2 * step) - gradients.numbers()[at]) <=
                  1e-6 * std::max(1e-2, gradients.numbers().cwiseAbs().maxCoeff()));
        }
    }
}

TEST_CASE("training: checkpointing and threads change no bit and keep less", "[training][law]") {
    const SmallTraining<float> small(bucketed_config(), true);
    const PackedBatch batch = uneven_batch();
    const Dropout dropout{7, 0.1, 0.1};
    Parameters<float> plain = small.values.zeros();
    small.loss(batch, dropout, &plain);
    CHECK(plain.numbers().cwiseAbs().maxCoeff() > 0);
    for (const auto& [checkpointing, threads] : {std::pair(true, 1), {false, 4}, {true, 3}}) {
        Parameters<float> other = small.values.zeros();
        small.loss(batch, dropout, &other, true, checkpointing, threads);
        CHECK(same_bits(plain, other));
    }
    Workers workers(1);
    std::size_t bytes[2];
    for (const bool checkpointing : {false, true}) {
        DebertaTraining<float> model(small.config, {true, checkpointing}, workers);
        bytes[checkpointing] =
            model.forward(small.values, batch, model.embedding_sum(small.values, batch), dropout).bytes();
    }
    CHECK(4 * bytes[1] < bytes[0]);
}

TEST_CASE("training: another seed drops other numbers, no share drops none", "[training][law]") {
    const SmallTraining<double> small(bucketed_config(), true);
    const PackedBatch batch = uneven_batch();
    const double plain = small.loss(batch, {1, 0, 0});
    CHECK(plain == small.loss(batch, {2, 0, 0}));
    CHECK(small.loss(batch, {1, 0.1, 0}) != small.loss(batch, {2, 0.1, 0}));
    CHECK(small.loss(batch, {1, 0, 0.1}) != plain);
    CHECK(small.loss(batch, {1, 0, 0.1}) == small.loss(batch, {1, 0, 0.1}));
}

TEST_CASE("training: table rows that no pair addresses have gradient exactly 0", "[training][law]") {
    DebertaConfig config = small_config();
    config.norm_rel_ebd = false;
    config.max_relative_positions = 12;
    const SmallTraining<double> small(config, true);
    Parameters<double> gradients = small.values.zeros();
    small.loss(uneven_batch(), {}, &gradients);
    const auto table = gradients.matrix("encoder.rel_embeddings.weight");
    for (Index row = 0; row < 24; ++row) {
        // The longest sentence has 7 tokens: offsets -6 ... 6 around row 12.
        const bool addressed = row >= 12 - 6 && row <= 12 + 6;
        INFO(row);
        CHECK((table.row(row).cwiseAbs().maxCoeff() > 0) == addressed);
    }
}

TEST_CASE("training: a lookup of the padding word brings it no gradient", "[training][law]") {
    const DebertaConfig config = bucketed_config();
    TensorShapes tensors = expected_deberta_tensors(config);
    for (const auto& one : detection_head_tensors(config)) tensors.push_back(one);  // no tied output matrix
    Parameters<double> values(tensors);
    std::mt19937 random(19);
    std::normal_distribution<double> normal(0, 0.4);
    for (Index n = 0; n < values.size(); ++n) values.numbers()[n] = normal(random);
    PackedBatch batch = uneven_batch();
    batch.tokens[1] = batch.tokens[10] = 0;
    Workers workers(1);
    DebertaTraining<double> model(config, {false, false}, workers);
    Parameters<double> gradients = values.zeros();
    detection_step<double>(model, values, batch, {}, 1, gradients);
    CHECK(gradients.matrix(kWordTable).row(0).isZero(0));
    CHECK_FALSE(gradients.matrix(kWordTable).row(2).isZero(1e-6));
}

TEST_CASE("training: every run of a layer has masks of its own, the decoder's too", "[training][law]") {
    const SmallTraining<double> small(bucketed_config(), true);
    const PackedBatch batch = uneven_batch();
    Workers workers(1);
    DebertaTraining<double> model(small.config, {true, false}, workers);
    const Dropout dropout{3, 0.1, 0.1};
    const auto tape = model.forward(small.values, batch, model.embedding_sum(small.values, batch), dropout);
    std::set<std::uint64_t> seeds;
    for (const LayerUse<double>& use : tape.uses)
        for (const DropoutSite site :
             {DropoutSite::table, DropoutSite::probs, DropoutSite::attention, DropoutSite::ffn})
            seeds.insert(dropout.site_seed(site, use.use));
    CHECK(tape.uses.size() == 3);  // one encoder layer, two passes of the decoder
    CHECK(seeds.size() == 12);
}

TEST_CASE("training: a sentence's gradient is the same alone and among others", "[training][law]") {
    const SmallTraining<double> small(bucketed_config(), true);
    const PackedBatch all = uneven_batch();
    Parameters<double> together = small.values.zeros(), apart = small.values.zeros();
    small.loss(all, {}, &together);
    for (Index b = 0; b < all.sentences(); ++b) {
        const auto first = all.starts[static_cast<std::size_t>(b)], last = all.starts[static_cast<std::size_t>(b) + 1];
        PackedBatch one;
        one.tokens.assign(all.tokens.begin() + first, all.tokens.begin() + last);
        one.labels.assign(all.labels.begin() + first, all.labels.begin() + last);
        one.starts = {0, last - first};
        Parameters<double> gradients = small.values.zeros();
        small.loss(one, {}, &gradients);
        const auto targets = static_cast<double>(
            std::count_if(one.labels.begin(), one.labels.end(), [](std::int64_t label) { return label > 0; }));
        apart.numbers() += targets / 5 * gradients.numbers();  // five targets in all, of which these are so many
    }
    CHECK((together.numbers() - apart.numbers()).cwiseAbs().maxCoeff() <=
          1e-12 * together.numbers().cwiseAbs().maxCoeff());
}

TEST_CASE("training: with GDES the detector's loss reaches the delta and never the generator's table",
          "[training][rtd][law]") {
    const SmallTraining<double> generator(bucketed_config(), true);
    TensorShapes tensors = expected_deberta_tensors(generator.config);
    for (const auto& one : detection_head_tensors(generator.config)) tensors.push_back(one);
    Parameters<double> discriminator(tensors);
    std::mt19937 random(9);
    std::normal_distribution<double> normal(0, 0.4);
    for (Index n = 0; n < discriminator.size(); ++n) discriminator.numbers()[n] = normal(random);
    const PackedBatch batch = uneven_batch();
    Workers workers(1);
    DebertaTraining<double> model(generator.config, {false, false}, workers);
    const auto loss = [&](const Parameters<double>& g, const Parameters<double>& d, EmbeddingSharing sharing,
                          Parameters<double>* into) {
        Parameters<double> ignored;
        return detection_step<double>(model, discriminator_values(g, d, sharing), batch, {}, 1, into ? *into : ignored);
    };
    const Index at = discriminator.entry(kWordTable).first + 36 * 12 + 4;  // a word of the batch
    Parameters<double> gdes = discriminator.zeros(), shared = discriminator.zeros();
    Parameters<double> generator_gradients = generator.values.zeros();
    loss(generator.values, discriminator, EmbeddingSharing::gdes, &gdes);
    share_gradients(gdes, generator_gradients, EmbeddingSharing::gdes);
    CHECK(generator_gradients.numbers().cwiseAbs().maxCoeff() == 0);
    CHECK(std::abs(gdes.numbers()[at]) > 1e-4);

    // d loss / d E_delta = d loss / d E_D: the difference quotient of the delta.
    Parameters<double> moved = discriminator;
    moved.numbers()[at] += 1e-6;
    const double above = loss(generator.values, moved, EmbeddingSharing::gdes, nullptr);
    moved.numbers()[at] -= 2e-6;
    const double below = loss(generator.values, moved, EmbeddingSharing::gdes, nullptr);
    CHECK(std::abs((above - below) / 2e-6 - gdes.numbers()[at]) <= 1e-7);

    // Plain sharing sends the same numbers to the generator instead.
    Parameters<double> summed = generator.values;
    summed.row(kWordTable) += discriminator.row(kWordTable);
    loss(summed, discriminator, EmbeddingSharing::es, &shared);  // whose own table counts for nothing
    share_gradients(shared, generator_gradients, EmbeddingSharing::es);
    CHECK(shared.row(kWordTable).cwiseAbs().maxCoeff() == 0);
    CHECK((generator_gradients.row(kWordTable) - gdes.row(kWordTable)).cwiseAbs().maxCoeff() <= 1e-15);
}

TEST_CASE("training: the detector's gradient is the central difference of its loss", "[training][rtd][law]") {
    const DebertaConfig config = bucketed_config();
    TensorShapes tensors = expected_deberta_tensors(config);
    for (const auto& one : detection_head_tensors(config)) tensors.push_back(one);
    Parameters<double> values(tensors);
    std::mt19937 random(13);
    std::normal_distribution<double> normal(0, 0.4);
    for (Index n = 0; n < values.size(); ++n) values.numbers()[n] = normal(random);
    Workers workers(1);
    DebertaTraining<double> model(config, {false, false}, workers);
    const auto loss = [&](Parameters<double>& gradients) {
        return detection_step<double>(model, values, uneven_batch(), {4, 0.1, 0.1}, 50, gradients);
    };
    Parameters<double> gradients = values.zeros(), ignored;
    loss(gradients);
    for (const auto& entry : values.entries()) {
        INFO(entry.name);
        const Index at = entry.first + static_cast<Index>(random() % static_cast<unsigned>(entry.size));
        const double kept = values.numbers()[at];
        values.numbers()[at] = kept + 1e-6;
        const double above = loss(ignored);
        values.numbers()[at] = kept - 1e-6;
        const double below = loss(ignored);
        values.numbers()[at] = kept;
        CHECK(std::abs(50 * (above - below) / 2e-6 - gradients.numbers()[at]) <= 1e-5);
    }
}

TEST_CASE("training: a classifier's gradient is the central difference of its loss, and it learns", "[training][law]") {
    const DebertaConfig config = bucketed_config();
    TensorShapes tensors = expected_deberta_tensors(config);
    for (const auto& one : classification_head_tensors(config, 3)) tensors.push_back(one);
    Parameters<double> values(tensors);
    std::mt19937 random(17);
    std::normal_distribution<double> normal(0, 0.4);
    for (Index n = 0; n < values.size(); ++n) values.numbers()[n] = normal(random);
    Workers workers(2);
    DebertaTraining<double> model(config, {false, false}, workers);
    const PackedBatch batch = uneven_batch();
    const std::vector<std::int64_t> labels = {2, 0, 1};
    const auto loss = [&](const Dropout& dropout, Parameters<double>& gradients) {
        return classification_step<double>(model, values, batch, labels, dropout, gradients);
    };
    Parameters<double> gradients = values.zeros(), ignored;
    loss({4, 0.2, 0.1}, gradients);
    for (const auto& entry : values.entries()) {
        INFO(entry.name);
        const Index at = entry.first + static_cast<Index>(random() % static_cast<unsigned>(entry.size));
        const double kept = values.numbers()[at];
        values.numbers()[at] = kept + 1e-6;
        const double above = loss({4, 0.2, 0.1}, ignored);
        values.numbers()[at] = kept - 1e-6;
        const double below = loss({4, 0.2, 0.1}, ignored);
        values.numbers()[at] = kept;
        CHECK(std::abs((above - below) / 2e-6 - gradients.numbers()[at]) <= 1e-7);
    }
    AdamW<double> optimiser(values, {});
    for (int step = 0; step < 60; ++step) {
        gradients.numbers().setZero();
        loss({}, gradients);
        optimiser.step(values, gradients, 0.01, workers);
    }
    CHECK(classify<double>(model, values, batch) == labels);
    CHECK_THROWS_AS(classification_step<double>(model, values, batch, {2, 0}, {}, ignored), Error);
    CHECK_THROWS_AS(classification_step<double>(model, values, batch, {2, 0, 3}, {}, ignored), Error);
}

TEST_CASE("training: the generator draws words as often as it believes in them", "[training][rtd][law]") {
    PackedBatch batch;
    batch.tokens.assign(4000, 36);
    batch.labels.assign(4000, 5);
    batch.starts = {0, 4000};
    MaskedWordsTape<double> generator;
    generator.logits.resize(4000, 3);
    for (Index m = 0; m < 4000; ++m) {
        generator.rows.push_back(m);
        generator.logits.row(m) << std::log(0.2), std::log(0.5), std::log(0.3);
    }
    RandomStream random(3, 0);
    const PackedBatch drawn = replace_tokens<double>(batch, generator, 1, random);
    double counts[3] = {};
    for (const std::int64_t token : drawn.tokens) counts[token] += 1.0 / 4000;
    // Five standard deviations of a binomial share of 4000 draws.
    CHECK(std::abs(counts[0] - 0.2) <= 5 * std::sqrt(0.2 * 0.8 / 4000));
    CHECK(std::abs(counts[1] - 0.5) <= 5 * std::sqrt(0.5 * 0.5 / 4000));
    CHECK(drawn.labels == batch.labels);
    // At temperature 1/2 a word is as likely as the square of its share: 0.04, 0.25 and 0.09 of 0.38.
    double cold = 0;
    for (const std::int64_t token : replace_tokens<double>(batch, generator, 0.5, random).tokens)
        cold += (token == 1) / 4000.0;
    CHECK(std::abs(cold - 0.25 / 0.38) <= 5 * std::sqrt(0.25 / 4000));
}

TEST_CASE("SiFT: one side of a token's step is the rate, and examples of the official code", "[training][sift][law]") {
    Matrix<double> gradient(2, 4), noise = Matrix<double>::Zero(2, 4);
    gradient << 1, -2, 0.5, 0, 0, 0, 0, 4;
    const Matrix<double> delta = sift_perturb<double>(noise, gradient, 0.1);
    Matrix<double> expected(2, 4);
    expected << 0.05, -0.1, 0.025, 0, 0, 0, 0, 0.1;
    CHECK((delta - expected).cwiseAbs().maxCoeff() <= 1e-7);
    RowVector<double> s(3), t(3);
    s << 1, 2, 0;
    t << 0.5, 1.5, 1;
    CHECK(std::abs(symmetric_cross_entropy<double>(s, t) - 2.178335) <= 5e-7);
}

TEST_CASE("AdamW: the first step moves every number by the rate, against its gradient, and decays weights alone",
          "[training][law]") {
    Parameters<double> values({{"a.weight", {2, 2}}, {"a.bias", {2}}, {"LayerNorm.weight", {2}}});
    values.numbers() << 1, 2, 3, 4, 5, 6, 7, 8;
    Parameters<double> gradients = values.zeros();
    gradients.numbers() << 3, -2, 1, 0.5, -1, 2, 4, -4;
    AdamW<double> optimiser(values, {0.9, 0.999, 0, 0.1});
    Workers workers(1);
    optimiser.step(values, gradients, 0.01, workers);
    const double expected[] = {1 - 0.01 * 1.1, 2 + 0.01 * 0.8, 3 - 0.01 * 1.3, 4 - 0.01 * 1.4,
                               5 + 0.01,       6 - 0.01,       7 - 0.01,       8 + 0.01};
    for (Index n = 0; n < 8; ++n) CHECK(std::abs(values.numbers()[n] - expected[n]) <= 1e-12);
    // The second step by the formula.
    Parameters<double> before = values;
    gradients.numbers() << 1, 1, 1, 1, 1, 1, 1, 1;
    optimiser.step(values, gradients, 0.01, workers);
    const double m = (0.9 * 0.1 * 3 + 0.1) / (1 - 0.81), v = (0.999 * 0.001 * 9 + 0.001) / (1 - 0.999 * 0.999);
    CHECK(std::abs(values.numbers()[0] -
                   (before.numbers()[0] - 0.01 * (m / std::sqrt(v) + 0.1 * before.numbers()[0]))) <= 1e-12);
}

TEST_CASE("learning rate: up over the warm-up, down to 0, and gradients are cut to their length", "[training][law]") {
    CHECK(learning_rate(2, 0, 4, 12) == 0.5);
    CHECK(learning_rate(2, 3, 4, 12) == 2);
    CHECK(learning_rate(2, 4, 4, 12) == 2);
    CHECK(learning_rate(2, 8, 4, 12) == 1);
    CHECK(learning_rate(2, 12, 4, 12) == 0);
    CHECK(learning_rate(2, 20, 4, 12) == 0);
    Parameters<double> gradients({{"a", {2}}});
    gradients.numbers() << 3, 4;
    CHECK(clip_gradients(gradients, 10) == 5);
    CHECK(gradients.numbers()[0] == 3);
    CHECK(clip_gradients(gradients, 1) == 5);
    CHECK(std::abs(gradients.numbers()[1] - 0.8) <= 1e-15);
}

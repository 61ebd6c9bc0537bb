// What must hold of the objectives beside masked words, and of their heads.
#include <catch2/catch.hpp>

#include "core/training/adamw.h"
#include "core/training/classification.h"
#include "core/training/replaced_tokens.h"
#include "core/training/sift.h"
#include "tests/max_abs.h"
#include "tests/small_training.h"

namespace locus::test::test_training_objectives {

namespace {

/// The encoder's parameters and a head's.
Parameters<double> with_head(const DebertaConfig& config, const TensorShapes& head, unsigned seed) {
    TensorShapes tensors = expected_deberta_tensors(config);
    tensors.insert(tensors.end(), head.begin(), head.end());
    return random_parameters<double>(tensors, seed);
}

/// One number of every parameter against the difference quotient of loss().
template <class Loss>
void check_differences(Parameters<double>& values, const Parameters<double>& gradients, Loss loss, double tolerance) {
    std::mt19937 random(23);
    for (const auto& entry : values.entries()) {
        INFO(entry.name);
        const Index at = entry.first + static_cast<Index>(random() % static_cast<unsigned>(entry.size));
        const double kept = values.numbers()[at];
        values.numbers()[at] = kept + 1e-6;
        const double above = loss();
        values.numbers()[at] = kept - 1e-6;
        const double below = loss();
        values.numbers()[at] = kept;
        CHECK(std::abs((above - below) / 2e-6 - gradients.numbers()[at]) <= tolerance);
    }
}

}  // namespace

TEST_CASE("training: a lookup of the padding word brings it no gradient", "[training][law]") {
    const DebertaConfig config = bucketed_config();
    auto values = with_head(config, detection_head_tensors(config), 19);  // no tied output matrix
    PackedBatch batch = uneven_batch();
    batch.tokens[1] = batch.tokens[10] = 0;
    ThreadPool pool(1);
    DebertaTraining<double> model(config, {false, false}, pool);
    Parameters<double> gradients = values.zeros();
    detection_step<double>(model, values, batch, {}, 1, gradients);
    CHECK(gradients.matrix(kWordTable).row(0).isZero(0));
    CHECK_FALSE(gradients.matrix(kWordTable).row(2).isZero(1e-6));
}

TEST_CASE("training: with GDES the detector's loss reaches the delta and never the generator's table",
          "[training][rtd][law]") {
    const SmallTraining<double> generator(bucketed_config(), true);
    auto discriminator = with_head(generator.config, detection_head_tensors(generator.config), 9);
    const PackedBatch batch = uneven_batch();
    ThreadPool pool(1);
    DebertaTraining<double> model(generator.config, {false, false}, pool);
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
    CHECK(max_abs(generator_gradients.numbers()) == 0);
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
    CHECK(max_abs(shared.row(kWordTable)) == 0);
    CHECK(max_abs(generator_gradients.row(kWordTable) - gdes.row(kWordTable)) <= 1e-15);
}

TEST_CASE("training: the detector's gradient is the central difference of its loss", "[training][rtd][law]") {
    const DebertaConfig config = bucketed_config();
    auto values = with_head(config, detection_head_tensors(config), 13);
    ThreadPool pool(1);
    DebertaTraining<double> model(config, {false, false}, pool);
    const auto loss = [&](Parameters<double>& gradients) {
        return detection_step<double>(model, values, uneven_batch(), {4, 0.1, 0.1}, 50, gradients);
    };
    Parameters<double> gradients = values.zeros(), ignored;
    loss(gradients);
    check_differences(
        values, gradients, [&] { return 50 * loss(ignored); }, 1e-5);
}

TEST_CASE("training: a classifier's gradient is the central difference of its loss, and it learns", "[training][law]") {
    const DebertaConfig config = bucketed_config();
    auto values = with_head(config, classification_head_tensors(config, 3), 17);
    ThreadPool pool(2);
    DebertaTraining<double> model(config, {false, false}, pool);
    const PackedBatch batch = uneven_batch();
    const std::vector<std::int64_t> labels = {2, 0, 1};
    const auto loss = [&](const Dropout& dropout, Parameters<double>& gradients) {
        return classification_step<double>(model, values, batch, labels, dropout, gradients);
    };
    Parameters<double> gradients = values.zeros(), ignored;
    loss({4, 0.2, 0.1}, gradients);
    check_differences(
        values, gradients,
        [&] {
            return loss({4, 0.2, 0.1}, ignored);
        },
        1e-7);
    AdamW<double> optimiser(values, {});
    for (int step = 0; step < 200; ++step) {
        gradients.numbers().setZero();
        loss({}, gradients);
        optimiser.step(values, gradients, 0.01, pool);
    }
    CHECK(classify<double>(model, values, batch) == labels);
    CHECK_THROWS_AS(classification_step<double>(model, values, batch, {2, 0}, {}, ignored), Error);
    CHECK_THROWS_AS(classification_step<double>(model, values, batch, {2, 0, 3}, {}, ignored), Error);
}

TEST_CASE("training: a classifier's head drops before its pooler and after it, each by a mask of its own",
          "[training][law]") {
    const DebertaConfig config = bucketed_config();
    const auto values = with_head(config, classification_head_tensors(config, 3), 29);
    ThreadPool pool(1);
    DebertaTraining<double> model(config, {false, false}, pool);
    PackedBatch batch;  // as many texts as it takes for both masks to be of many numbers
    for (Index b = 0; b < 200; ++b) {
        batch.starts.push_back(b);
        batch.tokens.push_back(1 + b % 30);
    }
    batch.starts.push_back(200);
    const Matrix<double> x = Matrix<double>::Ones(200, config.hidden_size);
    const auto tape = classification_forward<double>(model, values, batch, {}, {5, 0.3, 0}, x);
    const auto before = (tape.first.array() == 0).eval(), behind = (tape.pooled.array() == 0).eval();
    const auto share = [](const auto& mask) { return mask.template cast<double>().mean(); };
    // Five standard deviations of a binomial share of 200 D draws; two masks of their own meet in 0.09 of the places.
    const double draws = 200.0 * static_cast<double>(config.hidden_size);
    CHECK(std::abs(share(before) - 0.3) <= 5 * std::sqrt(0.3 * 0.7 / draws));
    CHECK(std::abs(share(behind) - 0.3) <= 5 * std::sqrt(0.3 * 0.7 / draws));
    CHECK(std::abs(share((before && behind).eval()) - 0.09) <= 5 * std::sqrt(0.09 * 0.91 / draws));
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
    CHECK(max_abs(delta - expected) <= 1e-7);
    RowVector<double> s(3), t(3);
    s << 1, 2, 0;
    t << 0.5, 1.5, 1;
    CHECK(std::abs(symmetric_cross_entropy<double>(s, t) - 2.178335) <= 5e-7);
}

}  // namespace locus::test::test_training_objectives

// What must hold of a training step whatever the weights are.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "tests/max_abs.h"
#include "tests/small_training.h"

namespace locus::test::test_training_laws {

namespace {

template <class Scalar>
bool same_bits(const Parameters<Scalar>& a, const Parameters<Scalar>& b) {
    return a.size() == b.size() && std::memcmp(a.numbers().data(), b.numbers().data(),
                                               static_cast<std::size_t>(a.size()) * sizeof(Scalar)) == 0;
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
                  1e-6 * std::max(1e-2, max_abs(gradients.numbers())));
        }
    }
}

TEST_CASE("training: the word that is 0 at first is the configuration's padding, or none", "[training][law]") {
    const TensorShapes tensors = masked_language_tensors(bucketed_config(), true);
    for (const std::optional<Index> padding :
         {std::optional<Index>(0), std::optional<Index>(2), std::optional<Index>()}) {
        Parameters<double> values(tensors);
        RandomStream random(5, 0);
        initialise(values, random, 0.02, padding);
        const auto words = values.matrix(kWordTable);
        for (Index n = 0; n < words.rows(); ++n) CHECK(words.row(n).isZero(0) == (padding == n));
    }
}

TEST_CASE("training: fresh weights are normal, norms change nothing, biases and the padding word are 0",
          "[training][law]") {
    Parameters<double> values(masked_language_tensors(bucketed_config(), true));
    values.numbers().setConstant(7);
    RandomStream random(5, 0);
    initialise(values, random, 0.02);
    double squares = 0, count = 0;
    for (const auto& entry : values.entries()) {
        INFO(entry.name);
        const auto row = values.row(entry.name);
        if (entry.name.ends_with("LayerNorm.weight")) {
            CHECK((row.array() == 1).all());
        } else if (entry.name.ends_with("bias")) {
            CHECK(row.isZero(0));
        } else {
            CHECK_FALSE(row.isZero(0));
            squares += row.squaredNorm(), count += static_cast<double>(row.size());
        }
    }
    const auto words = values.matrix(kWordTable);
    CHECK(words.row(0).isZero(0));
    CHECK((words.bottomRows(words.rows() - 1).array() != 0).all());
    count -= static_cast<double>(words.cols());
    // A mean of squares of normal numbers has standard deviation sqrt(2 / n); five of them.
    CHECK(std::abs(squares / count / 0.0004 - 1) <= 5 * std::sqrt(2 / count));
}

TEST_CASE("training: checkpointing and threads change no bit and keep less", "[training][law]") {
    const SmallTraining<float> small(bucketed_config(), true);
    const PackedBatch batch = uneven_batch();
    const Dropout dropout{7, 0.1, 0.1};
    Parameters<float> plain = small.values.zeros();
    small.loss(batch, dropout, &plain);
    CHECK(max_abs(plain.numbers()) > 0);
    for (const auto& [checkpointing, threads] : {std::pair(true, 1), {false, 4}, {true, 3}}) {
        Parameters<float> other = small.values.zeros();
        small.loss(batch, dropout, &other, true, checkpointing, threads);
        CHECK(same_bits(plain, other));
    }
    ThreadPool pool(1);
    std::size_t bytes[2];
    for (const bool checkpointing : {false, true}) {
        DebertaTraining<float> model(small.config, {true, checkpointing}, pool);
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
        CHECK((max_abs(table.row(row)) > 0) == addressed);
    }
}

TEST_CASE("training: every run of a layer has masks of its own, the decoder's too", "[training][law]") {
    const SmallTraining<double> small(bucketed_config(), true);
    const PackedBatch batch = uneven_batch();
    ThreadPool pool(1);
    DebertaTraining<double> model(small.config, {true, false}, pool);
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
    CHECK(max_abs(together.numbers() - apart.numbers()) <= 1e-12 * max_abs(together.numbers()));
}

}  // namespace locus::test::test_training_laws

// What must hold of the original Transformer whatever its weights are.
#include "core/models/word_logits.h"
#include "core/positions/position_rows.h"
#include "tests/random_transformer.h"

namespace locus::test::test_transformer_laws {

namespace {

Matrix<double> encoded(const Transformer<double>& model, const ModelInput& source, Index sample = 0) {
    Trace nothing(StageFilter::none());
    return model.encode(source, nothing).matrix(sample);
}

Matrix<double> logits(const Transformer<double>& model, const ModelInput& source, const ModelInput& target,
                      Index sample = 0) {
    return model.forward(source, target, StageFilter::none()).logits.matrix(sample);
}

}  // namespace

TEST_CASE("transformer: without positions a sublayer permutes with its tokens, with them it does not",
          "[transformer][law]") {
    const MultiHeadWeights<double> weights = random_multi_head(12, 1);
    const std::vector<Index> order = {3, 0, 4, 1, 2};
    const auto run = [&](const Matrix<double>& rows) -> Matrix<double> {
        Tensor<double> x({1, 5, 12});
        x.matrix() = rows;
        return multi_head_attention(x, x, weights, 3, {Mask()}, 1e-5).output.matrix();
    };
    const Matrix<double> plain = random_rows(5, 12, 2);
    const Matrix<double> placed = plain + sinusoidal_table<double>(5, 12, SinusoidLayout::interleaved);
    Matrix<double> reordered(5, 12), reordered_placed(5, 12), expected(5, 12), expected_placed(5, 12);
    for (Index n = 0; n < 5; ++n) reordered.row(n) = plain.row(order[static_cast<std::size_t>(n)]);
    reordered_placed = reordered + sinusoidal_table<double>(5, 12, SinusoidLayout::interleaved);
    for (Index n = 0; n < 5; ++n) expected.row(n) = run(plain).row(order[static_cast<std::size_t>(n)]);
    for (Index n = 0; n < 5; ++n) expected_placed.row(n) = run(placed).row(order[static_cast<std::size_t>(n)]);
    CHECK(distance(run(reordered), expected) <= 1e-13);
    CHECK(distance(run(reordered_placed), expected_placed) > 1e-2);
}

TEST_CASE("transformer: changing a later target token never changes an earlier output", "[transformer][law]") {
    const Transformer<double> model = random_transformer(4);
    const std::vector<std::int64_t> target = {1, 8, 15, 20, 3};
    const Matrix<double> before = logits(model, text({4, 9, 17}), text(target));
    for (Index changed = 0; changed < 5; ++changed) {
        std::vector<std::int64_t> other = target;
        other[static_cast<std::size_t>(changed)] = 7;
        const Matrix<double> after = logits(model, text({4, 9, 17}), text(other));
        for (Index t = 0; t < 5; ++t) {
            INFO("token " << changed << " changed, row " << t);
            const double change = distance(before.row(t), after.row(t));
            CHECK((t < changed ? change <= 1e-14 : change > 1e-6));
        }
    }
    // Every row hears every source token.
    const Matrix<double> other_source = logits(model, text({4, 9, 18}), text(target));
    for (Index t = 0; t < 5; ++t) CHECK(distance(before.row(t), other_source.row(t)) > 1e-6);
}

TEST_CASE("transformer: a shorter target gives the first rows of the longer one", "[transformer][law]") {
    const Transformer<double> model = random_transformer(5);
    const Matrix<double> all = logits(model, text({4, 9, 17}), text({1, 8, 15, 20}));
    for (Index length = 1; length < 4; ++length) {
        std::vector<std::int64_t> target = {1, 8, 15, 20};
        target.resize(static_cast<std::size_t>(length));
        CHECK(distance(logits(model, text({4, 9, 17}), text(target)), all.topRows(length)) <= 1e-13);
    }
}

TEST_CASE("transformer: padding and neighbours in the batch change no real token", "[transformer][law]") {
    const Transformer<double> model = random_transformer(6);
    const ModelInput source = text({4, 9, 17, 0, 0, 5, 6, 7, 8, 9}, {1, 1, 1, 0, 0, 1, 1, 1, 1, 1}, 2);
    const ModelInput target = text({1, 8, 0, 1, 2, 3}, {1, 1, 0, 1, 1, 1}, 2);
    CHECK(distance(encoded(model, source).topRows(3), encoded(model, text({4, 9, 17}))) <= 1e-13);
    CHECK(distance(encoded(model, source, 1), encoded(model, text({5, 6, 7, 8, 9}))) <= 1e-13);
    CHECK(distance(logits(model, source, target).topRows(2), logits(model, text({4, 9, 17}), text({1, 8}))) <= 1e-13);
    CHECK(distance(logits(model, source, target, 1), logits(model, text({5, 6, 7, 8, 9}), text({1, 2, 3}))) <= 1e-13);
    // What stands under the padding does not matter.
    const ModelInput other = text({4, 9, 17, 21, 3, 5, 6, 7, 8, 9}, {1, 1, 1, 0, 0, 1, 1, 1, 1, 1}, 2);
    CHECK(distance(logits(model, source, target).topRows(2), logits(model, other, target).topRows(2)) <= 1e-14);
}

TEST_CASE("transformer: rows of probs sum to 1, hidden cells are exactly 0", "[transformer][law]") {
    const Transformer<double> model = random_transformer(7);
    const TransformerPass<double> pass = model.forward(text({4, 9, 17, 0}, {1, 1, 1, 0}), text({1, 8, 15}));
    const auto check = [](const Tensor<double>& probs, auto hidden) {
        for (Index h = 0; h < 3; ++h)
            for (Index i = 0; i < probs.extent(2); ++i) {
                CHECK(std::abs(probs.matrix(h).row(i).sum() - 1) <= 1e-15 * 4);
                for (Index j = 0; j < probs.extent(3); ++j) CHECK((probs.matrix(h)(i, j) == 0) == hidden(i, j));
            }
    };
    check(pass.encoder.at("layer.1.probs").as<double>(), [](Index, Index j) { return j == 3; });
    check(pass.decoder.at("layer.1.probs").as<double>(), [](Index i, Index j) { return j > i; });
    check(pass.cross[1].probs, [](Index, Index j) { return j == 3; });
}

TEST_CASE("transformer: words are lifted by sqrt(D) before positions join", "[transformer][law]") {
    const TransformerWeights<double> weights = random_transformer_weights(small_transformer(), 8);
    const Trace trace = Transformer<double>(small_transformer(), weights).forward(text({4, 9, 4}), text({1})).encoder;
    const auto word = trace.at("embeddings.word").as<double>().matrix();
    const auto output = trace.at("embeddings.output").as<double>().matrix();
    const auto positions = trace.at("positions.r").as<double>().matrix();
    CHECK(word.row(0) == weights.word_table.row(4));
    CHECK(positions == sinusoidal_table<double>(3, 12, SinusoidLayout::interleaved));
    CHECK(distance(output, Matrix<double>(word * std::sqrt(12.0) + positions)) <= 1e-15);
    // The same word at another place differs by the difference of its sinusoids alone.
    CHECK(distance(output.row(2) - output.row(0), positions.row(2) - positions.row(0)) <= 1e-14);
}

TEST_CASE("transformer: each greedy word is the likeliest after the ones before it", "[transformer][law]") {
    const Transformer<double> model = random_transformer(9);
    const ModelInput sources = text({4, 9, 17, 5, 6, 0}, {1, 1, 1, 1, 1, 0}, 2);
    const auto answers = model.greedy(sources, 1, 2, 5);
    REQUIRE(answers.size() == 2);
    CHECK(answers[1] == model.greedy(text({5, 6}), 1, 2, 5)[0]);
    const std::vector<std::int64_t>& words = answers[0];
    REQUIRE((!words.empty() && words.size() <= 5));
    std::vector<std::int64_t> fed = words;
    fed.insert(fed.begin(), 1);
    fed.pop_back();
    const Matrix<double> rows = logits(model, text({4, 9, 17}), text(fed));
    for (Index t = 0; t < rows.rows(); ++t) {
        const std::int64_t word = words[static_cast<std::size_t>(t)];
        CHECK(rows(t, word) >= rows.row(t).maxCoeff() - 1e-13);
        CHECK((word == 2) == (t + 1 < 5 && t + 1 == rows.rows()));
    }
    CHECK(model.greedy(text({4, 9, 17}), 1, words[0], 5)[0] == std::vector<std::int64_t>{words[0]});
}

TEST_CASE("transformer: no logits of a model go below the smoothed minimum", "[transformer][law]") {
    const Tensor<double> rows = random_transformer(10).forward(text({4, 9}), text({1, 8, 15})).logits;
    const Tensor<double> losses = smoothed_losses(rows, IndexTensor({1, 3}, {8, 0, 2}), {});
    REQUIRE(losses.shape() == Shape{2});
    for (Index n = 0; n < 2; ++n) CHECK(losses[n] > least_smoothed_loss(23, {}));
    CHECK(std::abs(losses[1] - smoothed_loss<double>(rows.rows().row(2), 2, {})) <= 1e-14);
}

}  // namespace locus::test::test_transformer_laws

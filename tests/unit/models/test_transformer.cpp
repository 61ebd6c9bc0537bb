// The Transformer against plain loops, and what it refuses.
#include "core/positions/position_rows.h"
#include "tests/files.h"
#include "tests/random_transformer.h"

namespace locus::test::test_transformer {

namespace {

using Sees = std::function<bool(Index, Index)>;

/// norm(x + dense(heads)), head by head, from the formulas.
Rows dumb_attention(const Rows& x, const Rows& memory, const MultiHeadWeights<double>& w, Index heads,
                    const Sees& sees) {
    const Rows q = dumb_dense(x, w.query), k = dumb_dense(memory, w.key), v = dumb_dense(memory, w.value);
    const Index d = q.cols() / heads;
    Rows joined(x.rows(), x.cols());
    for (Index h = 0; h < heads; ++h) {
        Rows scores = Rows::Zero(x.rows(), memory.rows());
        for (Index i = 0; i < scores.rows(); ++i)
            for (Index j = 0; j < scores.cols(); ++j) {
                for (Index c = h * d; c < (h + 1) * d; ++c) scores(i, j) += q(i, c) * k(j, c);
                scores(i, j) /= std::sqrt(static_cast<double>(d));
            }
        const Rows probs = dumb_softmax(scores, sees);
        for (Index i = 0; i < x.rows(); ++i)
            for (Index c = h * d; c < (h + 1) * d; ++c) {
                joined(i, c) = 0;
                for (Index j = 0; j < memory.rows(); ++j) joined(i, c) += probs(i, j) * v(j, c);
            }
    }
    return dumb_norm(x + dumb_dense(joined, w.out), w.norm, 1e-5);
}

Rows dumb_feed_forward(const Rows& x, const FeedForwardWeights<double>& w) {
    Rows act = dumb_dense(x, w.up);
    for (Index n = 0; n < act.size(); ++n) act.data()[n] = act.data()[n] > 0 ? act.data()[n] : 0;
    return dumb_norm(x + dumb_dense(act, w.down), w.norm, 1e-5);
}

Rows dumb_embeddings(const std::vector<std::int64_t>& tokens, const Rows& table) {
    Rows x(std::ssize(tokens), table.cols());
    for (Index p = 0; p < x.rows(); ++p)
        for (Index c = 0; c < x.cols(); ++c) {
            const double angle = static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(c / 2 * 2) / 12.0);
            x(p, c) = std::sqrt(12.0) * table(tokens[static_cast<std::size_t>(p)], c) +
                      (c % 2 == 0 ? std::sin(angle) : std::cos(angle));
        }
    return x;
}

}  // namespace

TEST_CASE("transformer: logits equal those of plain loops, with padding in source and target", "[transformer][law]") {
    const TransformerWeights<double> w = random_transformer_weights(small_transformer(), 1);
    const std::vector<std::int64_t> source = {4, 9, 17, 22, 3, 0}, target = {1, 8, 8, 15, 0};
    Rows x = dumb_embeddings(source, w.word_table), y = dumb_embeddings(target, w.word_table);
    for (const auto& layer : w.encoder) {
        x = dumb_attention(x, x, layer.self, 3, [](Index, Index j) { return j < 5; });
        x = dumb_feed_forward(x, layer.feed_forward);
    }
    for (const auto& layer : w.decoder) {
        y = dumb_attention(y, y, layer.self, 3, [](Index i, Index j) { return j <= i && j < 4; });
        y = dumb_attention(y, x, layer.cross, 3, [](Index, Index j) { return j < 5; });
        y = dumb_feed_forward(y, layer.feed_forward);
    }
    Rows logits(5, 23);
    for (Index t = 0; t < 5; ++t)
        for (Index v = 0; v < 23; ++v) logits(t, v) = dumb_dot(y, t, w.word_table, v);

    const ModelInput in = text(source, {1, 1, 1, 1, 1, 0}), out = text(target, {1, 1, 1, 1, 0});
    const TransformerPass<double> pass = Transformer<double>(small_transformer(), w).forward(in, out);
    CHECK(distance(pass.encoder.at("layer.1.output").as<double>().matrix(), x) <= 1e-13);
    CHECK(distance(pass.decoder.at("layer.1.output").as<double>().matrix(), y) <= 1e-13);
    CHECK(distance(pass.logits.matrix(), logits) <= 1e-13);
    const TransformerPass<float> single = Transformer<float>(small_transformer(), narrow(w)).forward(in, out);
    CHECK(distance(single.logits.matrix(), logits) <= 1e-4);
}

TEST_CASE("transformer: each side writes its stages in the order of the contract", "[transformer]") {
    const Transformer<double> model = random_transformer(2);
    const TransformerPass<double> pass = model.forward(text({4, 9, 17}), text({1, 8}));
    std::vector<std::string> expected = model.stage_names();
    for (const Trace* trace : {&pass.decoder, &pass.encoder}) {
        std::vector<std::string> names = trace->names();
        std::sort(names.begin(), names.end(), stage_comes_before);
        std::sort(expected.begin(), expected.end(), stage_comes_before);
        CHECK(names == expected);
        std::erase(expected, "lm.logits");  // the decoder's alone
    }
    REQUIRE(pass.cross.size() == 2);
    CHECK(pass.cross[1].probs.shape() == Shape{1, 3, 2, 3});
    CHECK(pass.decoder.at("layer.0.probs").shape() == Shape{1, 3, 2, 2});
    CHECK(pass.encoder.at("layer.0.scores").formula == "q_i . k_j / sqrt(d)");
    CHECK(pass.encoder.at("layer.0.scores").source == "Vaswani et al. 2017, section 3");
    CHECK(pass.encoder.at("embeddings.output").formula == "sqrt(D) word + sinusoid(position)");
    const TransformerPass<double> some =
        model.forward(text({4, 9, 17}), text({1, 8}), StageFilter("layer.1.probs,lm.*"));
    CHECK(some.encoder.names() == std::vector<std::string>{"layer.1.probs"});
    CHECK(some.decoder.names() == std::vector<std::string>{"layer.1.probs", "lm.logits"});
}

TEST_CASE("transformer: sizes and weights that do not fit are refused with one sentence", "[transformer][bad input]") {
    const auto sizes = [](auto change) {
        TransformerConfig config = small_transformer();
        change(config);
        return refusal([&] { Transformer<double>(config, random_transformer_weights(small_transformer(), 1)); },
                       Fault::usage);
    };
    CHECK(sizes([](auto& c) { c.heads = 0; }) == "transformer: heads is 0, expected 1 or more");
    CHECK(sizes([](auto& c) { c.heads = 5; }) == "transformer: width is 12, expected a multiple of heads = 5");
    CHECK(sizes([](auto& c) { c.width = 9; }) ==
          "transformer: width is 9, expected an even number: sinusoids come in pairs");
    CHECK(sizes([](auto& c) { c.layer_norm_eps = std::nan(""); }).find("expected a number above 0") !=
          std::string::npos);
    CHECK(sizes([](auto& c) { c.layers = 3; }).find("expected [3]") != std::string::npos);
    const auto weights = [](auto change) {
        TransformerWeights<double> w = random_transformer_weights(small_transformer(), 1);
        change(w);
        return refusal([&] { Transformer<double>(small_transformer(), w); }, Fault::usage);
    };
    CHECK(weights([](auto& w) { w.word_table = random_rows(23, 11, 1); }) ==
          "transformer: word_table is [23, 11], expected [23, 12]");
    CHECK(weights([](auto& w) { w.encoder[1].self.key = random_dense(12, 11, 1); }) ==
          "transformer: encoder.1.self.key.weight is [12, 11], expected [12, 12]");
    CHECK(weights([](auto& w) { w.decoder[0].cross.out.bias.resize(11); }) ==
          "transformer: decoder.0.cross.out.bias is [11], expected [12]");
    CHECK(weights([](auto& w) { w.decoder[1].feed_forward.down = random_dense(12, 12, 1); }) ==
          "transformer: decoder.1.feed_forward.down.weight is [12, 12], expected [12, 20]");
    CHECK(weights([](auto& w) { w.encoder[0].feed_forward.norm.weight.resize(0); }) ==
          "transformer: encoder.0.feed_forward.norm.weight is [0], expected [12]");
}

TEST_CASE("transformer: texts that cannot be are refused with one sentence", "[transformer][bad input]") {
    const Transformer<double> model = random_transformer(3);
    const auto sentence = [&](const ModelInput& source, const ModelInput& target, const char* stages = "*") {
        return refusal([&] { model.forward(source, target, StageFilter(stages)); }, Fault::usage);
    };
    const ModelInput fine = text({4, 9});
    CHECK(sentence(text({4, 23}), fine) == "source: tokens holds 23, expected ids from 0 to vocab_size - 1 = 22");
    CHECK(sentence(fine, text({-1})) == "target: tokens holds -1, expected ids from 0 to vocab_size - 1 = 22");
    CHECK(sentence(ModelInput{}, fine).find("source: tokens has shape") == 0);
    CHECK(sentence(fine, text({4, 9}, {}, 2)) == "transformer: 1 sources and 2 targets, expected as many of each");
    CHECK(sentence(text(std::vector<std::int64_t>(65, 4)), fine) ==
          "source: 65 tokens, expected max_position = 64 at most");
    ModelInput square = fine;
    square.mask = IndexTensor({1, 2, 2}, {1, 1, 1, 1});
    CHECK(sentence(square, fine) == "source: mask has shape [1, 2, 2], expected [1, 2] like tokens");
    square.mask = IndexTensor({1, 2}, {1, 2});
    CHECK(sentence(fine, square) == "target: mask holds 2, expected 0 (hidden) or 1 (visible)");
    CHECK(sentence(fine, fine, "layer.2.q").find("\"layer.2.q\" matches no stage") != std::string::npos);
    const auto greedy = [&](std::int64_t start, std::int64_t end, Index limit) {
        return refusal([&] { model.greedy(fine, start, end, limit); }, Fault::usage);
    };
    CHECK(greedy(23, 2, 3) == "greedy: word 23 cannot start or end a text, expected 0 to 22");
    CHECK(greedy(1, -1, 3) == "greedy: word -1 cannot start or end a text, expected 0 to 22");
    CHECK(greedy(1, 2, 0) == "greedy: limit is 0, expected 1 to max_position = 64");
    CHECK(greedy(1, 2, 65) == "greedy: limit is 65, expected 1 to max_position = 64");
    TransformerWeights<double> broken = random_transformer_weights(small_transformer(), 1);
    broken.word_table(5, 0) = std::nan("");
    const Transformer<double> sick(small_transformer(), broken);
    CHECK(refusal([&] { sick.greedy(fine, 1, 2, 3); }, Fault::usage) ==
          "greedy: the logits of word 0 of sample 0 are not finite");
}

}  // namespace locus::test::test_transformer

#include "core/models/older/seq2seq.h"
#include "tests/files.h"
#include "tests/naive_reference.h"

namespace locus::test::test_seq2seq {

namespace {

constexpr Index kN = 4, kE = 5, kA = 6, kSourceWords = 13, kTargetWords = 11;

Seq2SeqWeights<double> random_weights(bool additive) {
    Seq2SeqWeights<double> weights;
    weights.source_words = random_rows(kSourceWords, kE, 1);
    weights.target_words = random_rows(kTargetWords, kE, 2);
    weights.encoder = {random_dense(4 * kN, kE, 3), random_dense(4 * kN, kN, 4)};
    weights.decoder = {random_dense(4 * kN, additive ? kE + kN : kE, 5), random_dense(4 * kN, kN, 6)};
    if (additive)
        weights.alignment =
            AdditiveAlignment<double>{random_rows(kA, kN, 7), random_rows(kA, kN, 8), random_rows(1, kA, 9).row(0)};
    else
        weights.alignment = MultiplicativeAlignment<double>{random_rows(kN, kN, 7)};
    weights.combine = random_dense(kN, 2 * kN, 10);
    weights.output = random_dense(kTargetWords, kN, 11);
    return weights;
}

const std::vector<std::int64_t> kSource = {3, 0, 12, 7, 3, 5}, kTarget = {1, 10, 4, 4};

/// a(s, h_j), from the formulas.
double dumb_alignment(const Seq2SeqWeights<double>& weights, const RowVector<double>& s, const Matrix<double>& h,
                      Index j) {
    double score = 0;
    if (const auto* additive = std::get_if<AdditiveAlignment<double>>(&weights.alignment)) {
        for (Index a = 0; a < kA; ++a) {
            double inner = 0;
            for (Index n = 0; n < kN; ++n) inner += additive->state(a, n) * s[n] + additive->encoder(a, n) * h(j, n);
            score += additive->energy[a] * std::tanh(inner);
        }
    } else {
        const auto& weight = std::get<MultiplicativeAlignment<double>>(weights.alignment).weight;
        for (Index n = 0; n < kN; ++n)
            for (Index m = 0; m < kN; ++m) score += s[n] * weight(n, m) * h(j, m);
    }
    return score;
}

}  // namespace

TEST_CASE("seq2seq: every step equals its loops, additive and multiplicative", "[seq2seq][law]") {
    for (const bool additive : {true, false}) {
        const Seq2SeqWeights<double> weights = random_weights(additive);
        const Seq2SeqResult<double> result = Seq2Seq<double>(weights).forward(kSource, kTarget);
        const Matrix<double>& h = result.encoder.hidden;
        REQUIRE((h.rows() == 6 && result.steps.size() == 4));
        LstmState<double> before = result.encoder.last();
        for (std::size_t t = 0; t < 4; ++t) {
            const Seq2SeqStep<double>& step = result.steps[t];
            const RowVector<double> asking = additive ? before.hidden : step.lstm.last().hidden;
            Matrix<double> scores(1, 6);
            for (Index j = 0; j < 6; ++j) scores(0, j) = dumb_alignment(weights, asking, h, j);
            const Matrix<double> probs = dumb_softmax(scores, sees_all), context = dumb_average(probs, h);
            CHECK(distance(step.scores, scores) <= 1e-14);
            CHECK(distance(step.probs, probs) <= 1e-14);
            CHECK(distance(step.context, context) <= 1e-14);
            Matrix<double> x(1, additive ? kE + kN : kE), both(1, 2 * kN);
            x.leftCols(kE) = weights.target_words.row(kTarget[t]);
            if (additive) x.rightCols(kN) = context;
            const LstmResult<double> stepped =
                lstm<double>(x, weights.decoder, before);  // compared with loops in test_lstm.cpp
            CHECK(distance(step.lstm.hidden, stepped.hidden) <= 1e-14);
            both << context, stepped.hidden;
            const Matrix<double> combined = dumb_dense(both, weights.combine).array().tanh();
            CHECK(distance(step.combined, combined) <= 1e-14);
            CHECK(distance(step.logits, dumb_dense(combined, weights.output)) <= 1e-13);
            before = stepped.last();
        }
    }
}

TEST_CASE("seq2seq: a later target word never changes an earlier step", "[seq2seq][law]") {
    for (const bool additive : {true, false}) {
        const Seq2Seq<double> model(random_weights(additive));
        const auto a = model.forward(kSource, kTarget), b = model.forward(kSource, {1, 10, 7, 4});
        for (std::size_t t = 0; t < 4; ++t) CHECK((a.steps[t].logits == b.steps[t].logits) == (t < 2));
    }
}

TEST_CASE("seq2seq: multiplicative attention with a zero weight looks at every word alike", "[seq2seq][law]") {
    Seq2SeqWeights<double> weights = random_weights(false);
    std::get<MultiplicativeAlignment<double>>(weights.alignment).weight.setZero();
    const auto result = Seq2Seq<double>(weights).forward(kSource, kTarget);
    for (const auto& step : result.steps)
        CHECK(distance(step.context, Matrix<double>(result.encoder.hidden.colwise().mean())) <= 1e-15);
}

TEST_CASE("seq2seq: greedy words are those of teacher forcing with them", "[seq2seq][law]") {
    for (const bool additive : {true, false}) {
        const Seq2Seq<double> model(random_weights(additive));
        std::vector<std::int64_t> words, cut;
        const auto free = model.greedy(kSource, 1, 99 % kTargetWords, 7, words);
        REQUIRE((!words.empty() && words.size() <= 7 && free.steps.size() == words.size()));
        std::vector<std::int64_t> fed = words;
        fed.insert(fed.begin(), 1);
        fed.pop_back();
        const auto forced = model.forward(kSource, fed);
        for (std::size_t t = 0; t < words.size(); ++t) {
            CHECK(forced.steps[t].logits == free.steps[t].logits);
            for (Index w = 0; w < kTargetWords; ++w) CHECK(free.steps[t].logits[words[t]] >= free.steps[t].logits[w]);
        }
        model.greedy(kSource, 1, words.front(), 7, cut);  // the end word stops it
        CHECK(cut == std::vector<std::int64_t>{words.front()});
        model.greedy(kSource, 1, kTargetWords - 1, 1, cut);  // and so does the limit
        CHECK(cut.size() == 1);
    }
}

TEST_CASE("seq2seq: float follows double", "[seq2seq]") {
    const Seq2SeqWeights<double> w = random_weights(false);
    const auto narrow = [](const Dense<double>& layer) {
        return Dense<float>{layer.weight.cast<float>(), layer.bias.cast<float>()};
    };
    Seq2SeqWeights<float> single;
    single.source_words = w.source_words.cast<float>();
    single.target_words = w.target_words.cast<float>();
    single.encoder = {narrow(w.encoder.input), narrow(w.encoder.recurrent)};
    single.decoder = {narrow(w.decoder.input), narrow(w.decoder.recurrent)};
    single.alignment =
        MultiplicativeAlignment<float>{std::get<MultiplicativeAlignment<double>>(w.alignment).weight.cast<float>()};
    single.combine = narrow(w.combine);
    single.output = narrow(w.output);
    const auto a = Seq2Seq<float>(single).forward(kSource, kTarget);
    const auto b = Seq2Seq<double>(w).forward(kSource, kTarget);
    for (std::size_t t = 0; t < 4; ++t) CHECK(distance(a.steps[t].logits, b.steps[t].logits) <= 1e-5);
}

TEST_CASE("seq2seq: weights and words that do not fit are refused with one sentence", "[seq2seq][bad input]") {
    const auto sentence = [](auto change, bool additive = true) {
        Seq2SeqWeights<double> weights = random_weights(additive);
        change(weights);
        return refusal([&] { Seq2Seq<double>{weights}; }, Fault::usage);
    };
    CHECK(sentence([](auto& w) { w.decoder.input = random_dense(16, 5, 1); }) ==
          "seq2seq: decoder.input is [16, 5], expected [16, 9]");
    CHECK(sentence([](auto& w) { w.decoder.input = random_dense(16, 9, 1); }, false) ==
          "seq2seq: decoder.input is [16, 9], expected [16, 5]");
    CHECK(sentence([](auto& w) { w.target_words = random_rows(12, 5, 1); }) ==
          "seq2seq: target_words is [12, 5], expected [11, 5]");
    CHECK(sentence([](auto& w) { w.combine = random_dense(4, 4, 1); }) ==
          "seq2seq: combine is [4, 4], expected [4, 8]");
    CHECK(sentence([](auto& w) { std::get<0>(w.alignment).state = random_rows(6, 5, 1); }) ==
          "seq2seq: alignment.state is [6, 5], expected [6, 4]");
    CHECK(sentence([](auto& w) { std::get<1>(w.alignment).weight = random_rows(4, 5, 1); }, false) ==
          "seq2seq: alignment.weight is [4, 5], expected [4, 4]");
    const Seq2Seq<double> model(random_weights(true));
    CHECK(refusal([&] { model.forward({}, kTarget); }, Fault::usage) == "seq2seq: no source words, expected 1 or more");
    CHECK(refusal([&] { model.forward({13}, kTarget); }, Fault::usage) ==
          "seq2seq: source holds 13, expected ids from 0 to 12");
    CHECK(refusal([&] { model.forward(kSource, {-1}); }, Fault::usage) ==
          "seq2seq: target holds -1, expected ids from 0 to 10");
    std::vector<std::int64_t> words;
    CHECK(refusal([&] { model.greedy(kSource, 1, 2, 0, words); }, Fault::usage) ==
          "seq2seq: limit is 0, expected 1 or more");
    CHECK(refusal([&] { model.greedy(kSource, 11, 2, 1, words); }, Fault::usage) ==
          "seq2seq: target holds 11, expected ids from 0 to 10");
}

}  // namespace locus::test::test_seq2seq

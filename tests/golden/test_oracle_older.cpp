// The older schemes and models against numbers recorded from PyTorch and transformers (oracle/make/older.py).
#include "core/attention/biased.h"
#include "core/attention/shaw.h"
#include "core/io/safetensors.h"
#include "core/models/older/recurrent.h"
#include "core/models/older/seq2seq.h"
#include "core/models/older/transformer.h"
#include "core/models/word_logits.h"
#include "core/positions/offset_bias.h"
#include "tests/naive_reference.h"

namespace locus::test::test_oracle_older {

namespace {

class Recorded {
public:
    explicit Recorded(const std::string& name)
        : file_(open_safetensors(std::string(LOCUS_SOURCE_DIR) + "/tests/oracle/older/" + name + ".safetensors")) {}

    template <class Scalar = double>
    Tensor<Scalar> tensor(const std::string& name) const {
        INFO(name);
        const TensorEntry* entry = file_.find(name);
        REQUIRE(entry);
        return read_tensor<Scalar>(*entry);
    }
    IndexTensor ids(const std::string& name) const { return tensor<std::int64_t>(name); }
    /// All leading axes as rows.
    Matrix<double> rows(const std::string& name) const { return tensor(name).rows(); }
    Dense<double> dense(const std::string& name) const { return {rows(name + ".weight"), rows(name + ".bias")}; }
    Norm<double> norm(const std::string& name) const { return {rows(name + ".weight"), rows(name + ".bias")}; }
    LstmCell<double> lstm_cell(const std::string& name) const {
        return {dense(name + ".input"), dense(name + ".recurrent")};
    }
    MultiHeadWeights<double> multi_head(const std::string& name) const {
        return {dense(name + ".query"), dense(name + ".key"), dense(name + ".value"), dense(name + ".out"),
                norm(name + ".norm")};
    }
    FeedForwardWeights<double> feed_forward(const std::string& name) const {
        return {dense(name + ".up"), dense(name + ".down"), norm(name + ".norm")};
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const TensorEntry& entry : file_.entries) all.push_back(entry.name);
        return all;
    }

private:
    TensorFile file_;
};

constexpr double kExact = 1e-13;  // float64 on both sides; what is left is the order of sums

}  // namespace

TEST_CASE("oracle: torch.nn.RNN, LSTM, LSTMCell", "[oracle][rnn][lstm]") {
    const Recorded file("recurrent");
    const Matrix<double> x = file.rows("x");
    const RnnCell<double> cell{file.dense("rnn.input"), file.dense("rnn.recurrent")};
    CHECK(distance(rnn<double>(x, cell, file.rows("h0")).hidden, file.rows("rnn.hidden")) <= kExact);
    const LstmCell<double> forward = file.lstm_cell("lstm"), backward = file.lstm_cell("lstm_backward");
    const LstmResult<double> result = lstm<double>(x, forward, {file.rows("h0"), file.rows("c0")});
    CHECK(distance(result.hidden, file.rows("lstm.hidden")) <= kExact);
    CHECK(distance(result.cell, file.rows("lstm.cell")) <= kExact);
    CHECK(distance(bidirectional_lstm<double>(x, forward, backward).hidden, file.rows("lstm.bidirectional")) <= kExact);
}

TEST_CASE("oracle: torch.nn.TransformerEncoderLayer and DecoderLayer, layer by layer", "[oracle][transformer]") {
    const Recorded file("transformer");
    TransformerWeights<double> weights;
    weights.word_table = file.rows("word_table");
    for (const std::string l : {"0", "1"}) {
        const std::string encoder = "encoder." + l, decoder = "decoder." + l;
        weights.encoder.push_back({file.multi_head(encoder + ".self"), file.feed_forward(encoder + ".feed_forward")});
        weights.decoder.push_back({file.multi_head(decoder + ".self"), file.multi_head(decoder + ".cross"),
                                   file.feed_forward(decoder + ".feed_forward")});
    }
    const Transformer<double> model({23, 12, 3, 20, 2, 1e-5, 100}, weights);
    ModelInput source, target;
    source.tokens = file.ids("source");
    source.mask = file.ids("source_mask");
    target.tokens = file.ids("target");
    target.mask = file.ids("target_mask");
    const TransformerPass<double> pass = model.forward(source, target);

    const auto close = [&](const Tensor<double>& found, const std::string& name) {
        INFO(name);
        const Tensor<double> expected = file.tensor(name);
        REQUIRE(found.shape() == expected.shape());
        CHECK(distance(found.rows(), expected.rows()) <= kExact);
    };
    close(pass.encoder.at("embeddings.output").as<double>(), "encoder.embeddings");
    for (const std::string l : {"0", "1"}) {
        const std::string layer = "layer." + l;
        close(pass.encoder.at(layer + ".probs").as<double>(), "encoder." + l + ".self.probs");
        close(pass.encoder.at(layer + ".output").as<double>(), "encoder." + l + ".output");
        close(pass.decoder.at(layer + ".probs").as<double>(), "decoder." + l + ".self.probs");
        close(pass.cross[l == "0" ? 0 : 1].probs, "decoder." + l + ".cross.probs");
        close(pass.decoder.at(layer + ".output").as<double>(), "decoder." + l + ".output");
    }
    close(pass.logits, "logits");
    const IndexTensor labels = file.ids("labels");
    close(smoothed_losses(pass.logits, labels, {0.1, SmoothingShare::all_words}), "loss.0.1");
    close(smoothed_losses(pass.logits, labels, {0.0, SmoothingShare::all_words}), "loss.0.0");
    const auto answers = model.greedy(source, 1, 16, 6);
    REQUIRE(answers.size() == 2);
    CHECK(answers[0] == file.ids("greedy.0").values());
    CHECK(answers[1] == file.ids("greedy.1").values());
}

TEST_CASE("oracle: a sequence-to-sequence network of torch modules, step by step", "[oracle][seq2seq]") {
    for (const bool additive : {true, false}) {
        const Recorded file(additive ? "seq2seq_additive" : "seq2seq_multiplicative");
        Seq2SeqWeights<double> weights{file.rows("source_words"),
                                       file.rows("target_words"),
                                       file.lstm_cell("encoder"),
                                       file.lstm_cell("decoder"),
                                       {},
                                       file.dense("combine"),
                                       file.dense("output")};
        if (additive)
            weights.alignment = AdditiveAlignment<double>{file.rows("alignment.state"), file.rows("alignment.encoder"),
                                                          file.rows("alignment.energy")};
        else
            weights.alignment = MultiplicativeAlignment<double>{file.rows("alignment.weight")};
        const auto result = Seq2Seq<double>(weights).forward(file.ids("source").values(), file.ids("target").values());
        CHECK(distance(result.encoder.hidden, file.rows("encoder.hidden")) <= kExact);
        REQUIRE(result.steps.size() == 5);
        for (Index t = 0; t < 5; ++t) {
            const Seq2SeqStep<double>& step = result.steps[static_cast<std::size_t>(t)];
            INFO((additive ? "additive" : "multiplicative") << ", step " << t);
            CHECK(distance(step.scores, file.rows("scores").row(t)) <= kExact);
            CHECK(distance(step.probs, file.rows("probs").row(t)) <= kExact);
            CHECK(distance(step.context, file.rows("context").row(t)) <= kExact);
            CHECK(distance(step.lstm.hidden, file.rows("state").row(t)) <= kExact);
            CHECK(distance(step.logits, file.rows("logits").row(t)) <= kExact);
        }
    }
}

TEST_CASE("oracle: transformers' T5 buckets, offsets -700 to 700", "[oracle][t5]") {
    const Recorded file("t5");
    const IndexTensor offsets = file.ids("offsets");
    REQUIRE(offsets.size() == 1401);
    for (const auto& [buckets, distance] : {std::pair<Index, Index>{32, 128}, {16, 50}, {8, 20}, {64, 512}})
        for (const bool both : {true, false}) {
            const std::string name = "buckets." + std::to_string(buckets) + "." + std::to_string(distance) + "." +
                                     (both ? "bidirectional" : "causal");
            const IndexTensor expected = file.ids(name);
            REQUIRE(expected.size() == offsets.size());
            for (Index n = 0; n < offsets.size(); ++n) {
                INFO(name << ", offset " << offsets[n]);
                REQUIRE(t5_bucket(offsets[n], {buckets, distance, both}) == expected[n]);
            }
        }
}

TEST_CASE("oracle: transformers' T5Attention of encoder and decoder", "[oracle][t5][biased]") {
    const Recorded file("t5");
    for (const std::string side : {"encoder", "decoder"}) {
        const bool causal = side == "decoder";
        const Tensor<double> q = file.tensor(side + ".q"), k = file.tensor(side + ".k"), v = file.tensor(side + ".v");
        const Tensor<double> bias = file.tensor(side + ".bias"), probs = file.tensor(side + ".probs");
        const Tensor<double> context = file.tensor(side + ".context");
        const OffsetBias<double> line = t5_bias<double>(file.rows(side + ".table"), 14, 14, {8, 10, !causal});
        REQUIRE((line.heads() == 3 && q.extent(0) == 3));
        Mask mask(14, 14);
        for (Index i = 0; i < 14; ++i)
            for (Index j = 0; j < 14; ++j) mask(i, j) = !causal || j <= i;
        for (Index h = 0; h < 3; ++h) {
            const auto terms =
                biased_attention<double>(q.matrix(h), k.matrix(h), v.matrix(h), line, h, ContentScale::none, mask);
            CHECK(distance(terms.bias, bias.matrix(h)) == 0);
            CHECK(distance(terms.probs, probs.matrix(h)) <= kExact);
            CHECK(distance(terms.context, context.matrix(h)) <= kExact);
        }
    }
}

TEST_CASE("oracle: BLOOM's ALiBi slopes, 1 to 40 heads", "[oracle][alibi]") {
    const Recorded file("alibi");
    const std::vector<std::string> names = file.names();
    REQUIRE(names.size() == 13);
    for (const std::string& name : names) {
        INFO(name);
        const Tensor<double> expected = file.tensor(name);  // recorded in float32, powers of a rounded base
        const std::vector<double> slopes = alibi_slopes(std::stol(name.substr(name.find('.') + 1)));
        REQUIRE(std::ssize(slopes) == expected.size());
        for (Index h = 0; h < expected.size(); ++h)
            CHECK(std::abs(slopes[static_cast<std::size_t>(h)] / expected[h] - 1) <= 4e-6);
    }
}

TEST_CASE("oracle: BERT's relative_key is Shaw's key table reversed, without a value term", "[oracle][shaw]") {
    const Recorded file("relative_key");
    const Tensor<double> q = file.tensor("query"), k = file.tensor("key"), v = file.tensor("value");
    const Matrix<double> by_i_minus_j = file.rows("distance_embedding");
    const Matrix<double> a_k = by_i_minus_j.colwise().reverse(), a_v = Matrix<double>::Zero(13, 4);
    for (Index h = 0; h < 2; ++h) {
        const auto terms = shaw_attention<double>(q.matrix(h), k.matrix(h), v.matrix(h), a_k, a_v, Mask());
        CHECK(distance(terms.probs, file.tensor("probs").matrix(h)) <= kExact);
        CHECK(distance(terms.context, file.tensor("context").matrix(h)) <= kExact);
    }
}

}  // namespace locus::test::test_oracle_older

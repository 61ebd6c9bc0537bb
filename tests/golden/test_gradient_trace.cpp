// The backward pass of a whole model under the stage names of its forward pass: parameters against torch, stages by
// what must hold between them and the forward pass.
#include "core/products.h"
#include "core/training/masked_words.h"
#include "tests/max_abs.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_gradient_trace {

using Catch::Matchers::Contains;

namespace {

struct RecordedModel {
    explicit RecordedModel(const std::string& name)
        : folder(kOracle / name),
          checkpoint(open_checkpoint(folder / "model")),
          config(parse_deberta_config(checkpoint.config_json, "config.json")),
          input(read_segments(folder / "inputs.safetensors", folder / "trace.safetensors").front()) {}
    Trace gradients(const StageFilter& wanted = {}, bool decoder = true) const {
        return gradient_trace<double>(config, checkpoint.weights, input,
                                      DebertaOptions::of(decoder ? Dialect::reference : Dialect::hf), wanted);
    }
    fs::path folder;
    Checkpoint checkpoint;
    DebertaConfig config;
    ModelInput input;
};

Matrix<double> rows_of(const Trace& trace, const std::string& name) { return trace.at(name).as<double>().rows(); }

/// Head h of sample b of a stage [B,H,T,x].
Matrix<double> head_of(const Trace& trace, const std::string& name, Index b, Index h) {
    const auto& stage = trace.at(name).as<double>();
    return stage.matrix(b * stage.extent(1) + h);
}

bool near(const Matrix<double>& found, const Matrix<double>& expected) {
    const double largest = std::max(1e-3, max_abs(expected));
    return found.rows() == expected.rows() && found.cols() == expected.cols() &&
           max_abs(found - expected) <= 1e-13 * largest;
}

/// One attention of both traces, seen as matrices of one head.
struct Attention {
    const Trace &forward, &backward;
    std::string prefix;
    Index heads, length;

    Matrix<double> there(const std::string& stage, Index b, Index h) const {
        return head_of(forward, prefix + stage, b, h);
    }
    Matrix<double> back(const std::string& stage, Index b, Index h) const {
        return head_of(backward, "grad." + prefix + stage, b, h);
    }
    Matrix<double> d_context(Index b, Index h) const {
        const Matrix<double> all = rows_of(backward, "grad." + prefix + "context");
        const Index width = all.cols() / heads;
        return all.block(b * length, h * width, length, width);
    }

    /// v and scores, from the gradient of the context.
    void check_softmax(Index b, Index h) const {
        const Matrix<double> probs = there("probs", b, h), d_context_h = d_context(b, h);
        CHECK(near(back("v", b, h), transposed_times<double>(probs, d_context_h)));
        const Matrix<double> d_probs = times_transposed<double>(d_context_h, there("v", b, h));
        const Eigen::VectorXd along = d_probs.cwiseProduct(probs).rowwise().sum();
        CHECK(near(back("scores", b, h), probs.cwiseProduct(d_probs.colwise() - along)));
    }
    /// The three terms and, with the recorded bucket of every pair, their factors.
    void check_terms(const Matrix<double>& index, Index b, Index h) const {
        const Matrix<double> q = there("q", b, h), k = there("k", b, h);
        const Matrix<double> k_r = forward.at(prefix + "k_r").as<double>().matrix(h);
        const Matrix<double> q_r = forward.at(prefix + "q_r").as<double>().matrix(h);
        const Matrix<double> d_term = back("scores", b, h) / std::sqrt(3.0 * static_cast<double>(q.cols()));
        for (const char* term : {"c2c", "c2p", "p2c"}) CHECK(near(back(term, b, h), d_term));
        Matrix<double> d_q = Matrix<double>::Zero(length, q.cols()), d_k = d_q;
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j) {
                const auto row = static_cast<Index>(index(i, j));
                d_q.row(i) += d_term(i, j) * (k.row(j) + k_r.row(row));
                d_k.row(j) += d_term(i, j) * (q.row(i) + q_r.row(row));
            }
        CHECK(near(back("q", b, h), d_q));
        CHECK(near(back("k", b, h), d_k));
    }
    /// The tables collect over the batch.
    void check_tables(const Matrix<double>& index, Index batch, Index h) const {
        const auto& k_r = backward.at("grad." + prefix + "k_r").as<double>();
        const auto& q_r = backward.at("grad." + prefix + "q_r").as<double>();
        Matrix<double> d_k_r = Matrix<double>::Zero(k_r.extent(1), k_r.extent(2)), d_q_r = d_k_r;
        for (Index b = 0; b < batch; ++b) {
            const Matrix<double> q = there("q", b, h), k = there("k", b, h), c2p = back("c2p", b, h),
                                 p2c = back("p2c", b, h);
            for (Index i = 0; i < length; ++i)
                for (Index j = 0; j < length; ++j) {
                    d_k_r.row(static_cast<Index>(index(i, j))) += c2p(i, j) * q.row(i);
                    d_q_r.row(static_cast<Index>(index(i, j))) += p2c(i, j) * k.row(j);
                }
        }
        CHECK(near(k_r.matrix(h), d_k_r));
        CHECK(near(q_r.matrix(h), d_q_r));
    }
};

Matrix<double> as_numbers(const IndexTensor& index) {
    Matrix<double> numbers(index.extent(0), index.extent(1));
    for (Index n = 0; n < index.size(); ++n) numbers.data()[n] = static_cast<double>(index[n]);
    return numbers;
}

}  // namespace

TEST_CASE("gradients: every parameter has its name of the file and torch's gradient", "[training][oracle]") {
    const std::string name = GENERATE("grads_deberta_model", "grads_deberta_model_conv");
    INFO(name);
    const RecordedModel one(name);
    const double tolerance = read_json(one.folder / "case.json")["tolerance"];
    const Trace reference = read_trace(one.folder / "trace.safetensors"), found = one.gradients();
    std::size_t compared = 0;
    for (const Stage& stage : reference.stages()) {
        if (!stage.name.starts_with("grad.")) continue;
        INFO(stage.name);
        const Stage* ours = found.find(stage.name);
        REQUIRE(ours);
        CHECK(deviation(stage, *ours) <= tolerance);
        ++compared;
    }
    CHECK(compared > 40);
    CHECK(std::is_sorted(found.stages().begin(), found.stages().end(),
                         [](const Stage& a, const Stage& b) { return stage_comes_before(a.name, b.name); }));
}

TEST_CASE("gradients: every attention's stages follow from its context and the forward pass", "[training][oracle]") {
    const RecordedModel one("grads_deberta_model");
    const Trace forward = Deberta<double>(one.config, one.checkpoint.weights).forward(one.input, DebertaOptions{});
    const Trace backward = one.gradients();
    const Matrix<double> index = as_numbers(forward.at("relative.index").as<std::int64_t>());
    for (const std::string prefix : {"layer.0.", "layer.1.", "emd.0.", "emd.1."}) {
        INFO(prefix);
        const auto& scores = forward.at(prefix + "scores").as<double>();
        const Index batch = scores.extent(0), heads = scores.extent(1), length = scores.extent(2);
        const Attention attention{forward, backward, prefix, heads, length};
        for (Index h = 0; h < heads; ++h) {
            for (Index b = 0; b < batch; ++b) {
                attention.check_softmax(b, h);
                attention.check_terms(index, b, h);
            }
            attention.check_tables(index, batch, h);
        }
    }
}

TEST_CASE("gradients: stages around an attention are those of the parameters that made them", "[training][oracle]") {
    const RecordedModel one("grads_deberta_model");
    const Trace forward = Deberta<double>(one.config, one.checkpoint.weights).forward(one.input, DebertaOptions{});
    const Trace backward = one.gradients();
    const auto column_sums = [&](const std::string& stage) -> Matrix<double> {
        return rows_of(backward, "grad." + stage).colwise().sum();
    };
    const auto parameter = [&](const std::string& name) { return rows_of(backward, "grad.deberta." + name); };
    // The last number of a layer norm's rows and of a dense layer's is its bias: the sum of its rows' gradients.
    CHECK(near(parameter("embeddings.LayerNorm.bias"), column_sums("embeddings.output")));
    for (const std::string layer : {"0", "1"}) {
        INFO(layer);
        const std::string of = "encoder.layer." + layer + ".", stage = "layer." + layer + ".";
        CHECK(near(parameter(of + "output.LayerNorm.bias"), column_sums(stage + "output")));
        CHECK(near(parameter(of + "attention.output.LayerNorm.bias"), column_sums(stage + "attention")));
        CHECK(near(parameter(of + "output.dense.bias"), column_sums(stage + "ffn")));
        CHECK(near(
            parameter(of + "output.dense.weight"),
            transposed_times<double>(rows_of(backward, "grad." + stage + "ffn"), rows_of(forward, stage + "ffn_act"))));
    }
}

TEST_CASE("gradients: without the decoder there are none of its stages, and patterns choose", "[training][oracle]") {
    const RecordedModel one("grads_deberta_model");
    const Trace without = one.gradients({}, false);
    CHECK(without.find("grad.layer.0.v"));
    for (const Stage& stage : without.stages()) CHECK_FALSE(stage.name.starts_with("grad.emd."));
    const Trace chosen = one.gradients(StageFilter("grad.layer.*.v"));
    CHECK(chosen.names() == std::vector<std::string>{"grad.layer.1.v", "grad.layer.0.v"});
    const Trace whole = one.gradients();
    CHECK(chosen.at("grad.layer.1.v").as<double>().rows() == whole.at("grad.layer.1.v").as<double>().rows());
}

TEST_CASE("gradients: what cannot be differentiated is refused by one sentence", "[training]") {
    RecordedModel one("grads_deberta_model");
    CHECK_THROWS_WITH(one.gradients(StageFilter("grad.nothing")), Contains("grad.nothing"));
    const IndexTensor labels = one.input.labels, mask = one.input.mask;
    one.input.labels = {};
    CHECK_THROWS_WITH(one.gradients(), Contains("labels are missing"));
    one.input.labels = labels;
    one.input.mask = IndexTensor({2, 7, 7}, std::vector<std::int64_t>(98, 1));
    CHECK_THROWS_WITH(one.gradients(), Contains("mask is [B, T, T]"));
    one.input.mask = mask;
    one.input.tokens[0] = 37;
    CHECK_THROWS_WITH(one.gradients(), Contains("tokens"));
    const RecordedModel headless("ms_rtd");
    CHECK_THROWS_WITH(headless.gradients(), Contains("no masked-word head"));
}

}  // namespace locus::test::test_gradient_trace

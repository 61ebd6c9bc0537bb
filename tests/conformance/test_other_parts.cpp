// What a wrong stage is made of, where no mistake of the catalogue explains it: other weights, another stage, terms
// that count differently.  The ports are Locus's own passes over changed weights, and single stages computed here.
#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>

#include "core/conformance/diagnosis/other_parts.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/models/model.h"
#include "tests/conformance/toy/recorded_ranges.h"

namespace locus::test::test_other_parts {

using namespace locus::conformance;
using namespace locus::conformance::toy;
using Catch::Contains;
using Catch::StartsWith;

namespace {

/// Weights of which some stand under the names of others, or hold the same number everywhere.
class Mixed : public WeightSource {
public:
    using Other = std::function<std::string(const std::string& name)>;
    Mixed(std::shared_ptr<const WeightSource> from, Other other, std::map<std::string, double> constant = {})
        : from_(std::move(from)), other_(std::move(other)), constant_(std::move(constant)) {}

    std::optional<Shape> shape(const std::string& name) const override { return from_->shape(name); }
    std::vector<std::string> names() const override { return from_->names(); }
    std::string location() const override { return from_->location(); }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        return rows_f64(name, first, rows).cast<float>();
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        Matrix<double> values = from_->rows_f64(other_(name), first, rows);
        if (const auto found = constant_.find(name); found != constant_.end()) values.setConstant(found->second);
        return values;
    }

private:
    std::shared_ptr<const WeightSource> from_;
    Other other_;
    std::map<std::string, double> constant_;
};

/// The same weights in half precision.
class Halved : public Mixed {
public:
    explicit Halved(std::shared_ptr<const WeightSource> from, bool matrices_alone = false, bool cut = false)
        : Mixed(std::move(from), [](const std::string& name) { return name; }),
          matrices_alone_(matrices_alone),
          cut_(cut) {}
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        const Matrix<double> values = Mixed::rows_f64(name, first, rows);
        if (matrices_alone_ && shape(name)->size() == 1) return values;
        if (cut_)
            return values.unaryExpr([](double value) {  // a bfloat16 is the upper half of a float
                const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
                return static_cast<double>(std::bit_cast<float>(bits >> 16 << 16));
            });
        return values.cast<float>().cast<Eigen::half>().cast<float>().cast<double>();
    }

private:
    bool matrices_alone_, cut_;
};

/// The same weights, of which those whose name ends so have a square block of rows transposed.
class BlockTransposed : public Mixed {
public:
    BlockTransposed(std::shared_ptr<const WeightSource> from, std::string ending, Index begin)
        : Mixed(std::move(from), [](const std::string& name) { return name; }),
          ending_(std::move(ending)),
          begin_(begin) {}
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        if (!name.ends_with(ending_)) return Mixed::rows_f64(name, first, rows);
        Matrix<double> all = Mixed::rows_f64(name, 0, shape(name)->at(0));
        const Index width = all.cols();
        REQUIRE(all.rows() >= begin_ + width);
        all.middleRows(begin_, width).transposeInPlace();
        return all.middleRows(first, rows);
    }

private:
    std::string ending_;
    Index begin_;
};

/// The same weights, one tensor twice as large.
class Doubled : public Mixed {
public:
    Doubled(std::shared_ptr<const WeightSource> from, std::string which)
        : Mixed(std::move(from), [](const std::string& name) { return name; }), which_(std::move(which)) {}
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return (name == which_ ? 2 : 1) * Mixed::rows_f64(name, first, rows);
    }

private:
    std::string which_;
};

Mixed::Other replacing(const std::string& part, const std::string& by) {
    return [=](std::string name) {
        if (const std::size_t at = name.find(part); at != std::string::npos) name.replace(at, part.size(), by);
        return name;
    };
}

/// A port that computes everything by these weights.
CaseReport with_weights(const Range& range, const std::shared_ptr<const WeightSource>& weights) {
    const auto model = open_model<double>(range.model->config_json, range.model->location, weights);
    Trace candidate;
    const Trace all = model->forward(range.segments, range.hugging_face ? Dialect::hf : Dialect::official);
    for (const std::string& name : range.sharp.names())
        if (all.find(name)) candidate.add(all.at(name));
    return judged(range, candidate);
}

CaseReport with_weights(const Range& range, const Mixed::Other& other, std::map<std::string, double> constant = {}) {
    return with_weights(range, std::make_shared<Mixed>(range.model->source, other, std::move(constant)));
}

/// A port whose one stage is `values`; what follows from it is right, as far as this is reported.
CaseReport with_stage(const Range& range, const std::string& name, const Tensor<double>& values,
                      const std::string& last) {
    Trace candidate;
    for (Stage stage : range.sharp.stages()) {
        if (stage.name == name) stage.values = values;
        candidate.add(stage);
        if (stage.name == last) break;
    }
    return judged(range, candidate);
}

std::string pattern_of(const CaseReport& report, const std::string& stage) {
    REQUIRE(report.all);
    for (const WrongStage& wrong : report.all->stages)
        if (wrong.stage == stage) return wrong.named() ? "named" : wrong.diagnosis.pattern;
    return "not wrong by itself";
}

const Range& deberta() { return several_range(Family::deberta, "ms_deberta_v3_emd"); }

const Tensor<double>& of(const Range& range, const std::string& stage) { return range.sharp.at(stage).as<double>(); }

}  // namespace

TEST_CASE("other parts: a layer that has the weights of another one, in every family", "[kit][parts]") {
    struct Family_ {
        Family family;
        std::string where, stem, first;
    };
    for (const Family_& one :
         std::vector<Family_>{{Family::deberta, "ms_deberta_v3_emd", "encoder.layer.", "layer.1.q"},
                              {Family::roformer, "hf_roformer", "encoder.layer.", "layer.1.q"},
                              {Family::transformer_xl, "txl_basic", "layers.", "segment.0.layer.1.q"},
                              {Family::xlnet, "hf_xlnet_bi", "layer.", "layer.1.q"}}) {
        const Range& range = several_range(one.family, one.where);
        const CaseReport report = with_weights(range, replacing(one.stem + "1.", one.stem + "0."));
        INFO(divergence_text(report));
        REQUIRE(report.first);
        CHECK(report.first->name == one.first);
        const std::string sentence =
            "it is made with the weights of " + one.stem + "0 instead of those of " + one.stem + "1";
        CHECK(pattern_of(report, one.first) == sentence);
        // Two of its weights at once: the dense layer and the norm.
        const std::string layer = one.first.substr(0, one.first.size() - 1);
        CHECK(pattern_of(report, layer + "attention") == sentence);
        // In XLNet mistake 106, u and v of layer 0, is a part of it.
        CHECK_THAT(divergence_text(report), Contains("every other stage reported is right") || Contains("mistake 106"));
    }
}

TEST_CASE("other parts: one weight for another, and one that is left out", "[kit][parts]") {
    const Range& range = deberta();
    const std::string norm = "encoder.layer.1.output.LayerNorm", other = "embeddings.LayerNorm";
    CHECK(pattern_of(with_weights(range, replacing(norm, other)), "layer.1.output") ==
          "it is made with " + other + " instead of " + norm);
    // Of the norms inside a layer mistake 122 is known; that of the convolution beside it is none of them.
    const Range& convolved = several_range(Family::deberta, "ms_deberta_v2_conv_emd");
    const auto same = [](const std::string& name) { return name; };
    const std::string beside = "encoder.conv.LayerNorm";
    CHECK(pattern_of(with_weights(convolved, same, {{beside + ".bias", 0}}), "layer.0.output") ==
          "it is made without " + beside + ".bias");
    CHECK(pattern_of(with_weights(convolved, same, {{beside + ".weight", 1}}), "layer.0.output") ==
          "it is made without " + beside + ".weight");
    Tensor<double> gain = of(convolved, "layer.0.output");  // as if the gain were stored minus 1
    const Norm<double> own = convolved.model->deberta->norm(beside);
    for (Index n = 0; n < gain.size(); ++n) {
        const Index c = n % own.weight.size();
        if (gain[n] != 0) gain[n] += (gain[n] - own.bias[c]) / own.weight[c];  // what the mask hides is 0
    }
    CHECK(pattern_of(with_stage(convolved, "layer.0.output", gain, "layer.0.output"), "layer.0.output") ==
          "it is made with 1 + " + beside + ".weight instead of " + beside + ".weight");
    const auto exchanged = [&](const std::string& name) {
        return name == norm + ".bias" ? norm + ".weight" : name == norm + ".weight" ? norm + ".bias" : name;
    };
    CHECK(pattern_of(with_weights(range, exchanged), "layer.1.output") ==
          "it is made with weight and bias of " + norm + " exchanged");
}

TEST_CASE("other parts: a norm whose weights were never loaded", "[kit][parts]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v2_conv_emd");
    const std::string norm = "encoder.conv.LayerNorm";
    const auto same = [](const std::string& name) { return name; };
    CHECK(pattern_of(with_weights(range, same, {{norm + ".weight", 1}, {norm + ".bias", 0}}), "layer.0.output") ==
          "it is made without weight and bias of " + norm);
}

TEST_CASE("other parts: a norm of a layer or of the head whose weights were never loaded has a name", "[kit][parts]") {
    const Range& range = deberta();
    const auto way_of = [&](const std::string& norm, const std::string& stage) -> std::string {
        const auto same = [](const std::string& name) { return name; };
        const CaseReport report = with_weights(range, same, {{norm + ".weight", 1}, {norm + ".bias", 0}});
        for (const WrongStage& wrong : report.all->stages)
            if (wrong.stage == stage && wrong.diagnosis.named && wrong.diagnosis.named->mistake == 122)
                return wrong.diagnosis.named->how;
        return "not named";
    };
    const std::string bare = "weight 1 and bias 0, as before a file is read, at least in the ";
    CHECK(way_of("encoder.LayerNorm", "relative.table") == bare + "table");
    CHECK(way_of("embeddings.LayerNorm", "embeddings.output") == bare + "embeddings");
    CHECK(way_of("encoder.layer.1.output.LayerNorm", "layer.1.output") == bare + "norm after the feed-forward part");
    CHECK(way_of(range.model->deberta->head_norm(), "mlm.transform") == bare + "head that predicts words");
}

TEST_CASE("other parts: a square block of Transformer-XL's weights that is transposed has a name", "[kit][parts]") {
    const fs::path folder = kOracle / "tiny_txl_trained";  // the recorded model with H d = D
    const Range range =
        range_of({folder, fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-txl", read_json(folder / "case.json")});
    const Index width = range.model->transformer_xl->d_model;
    const auto check = [&](const std::string& ending, Index begin, const std::string& stem, const std::string& how) {
        const CaseReport report =
            with_weights(range, std::make_shared<BlockTransposed>(range.model->source, ending, begin));
        INFO(divergence_text(report));
        REQUIRE(report.first);
        CHECK(report.first->name == "segment.0.layer.0." + stem);
        REQUIRE(report.all);
        REQUIRE(!report.all->stages.empty());
        const auto& named = report.all->stages.front().diagnosis.named;
        REQUIRE(named);
        CHECK(named->mistake == 82);
        CHECK(named->how == how);
    };
    const std::string qkv = "dec_attn.qkv_net.weight", block = "Transformer-XL: the block of ";
    check(qkv, 0, "q", block + "q in qkv_net transposed");
    check(qkv, width, "k", block + "k in qkv_net transposed");
    check(qkv, 2 * width, "v", block + "v in qkv_net transposed");
    check("dec_attn.r_net.weight", 0, "r_k", "the weight of position keys transposed");
}

TEST_CASE("other parts: weights that were rounded when they were loaded", "[kit][parts]") {
    const Range& range = deberta();
    for (const auto& [matrices_alone, cut] : {std::pair{false, false}, {true, false}, {false, true}}) {
        const auto model = open_model<double>(range.model->config_json, range.model->location,
                                              std::make_shared<Halved>(range.model->source, matrices_alone, cut));
        Trace candidate;
        const Trace all = model->forward(range.segments, Dialect::official);
        for (const std::string& name : range.sharp.names())
            if (all.find(name)) candidate.add(all.at(name));
        const CaseReport report = judged(range, candidate);
        const std::string said =
            cut ? "it is made with weights that were cut to BF16, without rounding"
            : matrices_alone
                ? "it is made with matrices that were rounded to F16, and with biases and norms that were not"
                : "it is made with weights that were rounded to F16, or to TF32, which keeps as many digits";
        for (const char* stage : {"layer.0.q", "layer.1.ffn"}) CHECK(pattern_of(report, stage) == said);
        CHECK(pattern_of(report, "layer.1.output") == (matrices_alone ? "not wrong by itself" : said));
        CHECK(pattern_of(report, "layer.0.probs") == "not wrong by itself");
    }
}

TEST_CASE("other parts: the bias of one dense layer with the weight of another", "[kit][parts]") {
    const CaseReport exchanged = with_weights(deberta(), [](const std::string& name) {
        const std::string attention = ".attention.output.dense.bias", output = ".output.dense.bias";
        const auto in_place_of = [&](const std::string& old, const std::string& by) {
            return name.substr(0, name.size() - old.size()) + by;
        };
        if (name.ends_with(attention)) return in_place_of(attention, output);
        return name.ends_with(output) ? in_place_of(output, attention) : name;
    });
    CHECK(pattern_of(exchanged, "layer.0.attention") ==
          "it is made with encoder.layer.0.output.dense.bias instead of encoder.layer.0.attention.output.dense.bias");
    CHECK(pattern_of(exchanged, "layer.0.ffn") ==
          "it is made with encoder.layer.0.attention.output.dense.bias instead of encoder.layer.0.output.dense.bias");
    const CaseReport weight = with_weights(deberta(), [](const std::string& name) {
        return name == "encoder.layer.0.attention.output.dense.weight"
                   ? "encoder.layer.0.attention.self.value_proj.weight"
                   : name;
    });
    CHECK(pattern_of(weight, "layer.0.attention") ==
          "it is made with encoder.layer.0.attention.self.value_proj.weight instead of "
          "encoder.layer.0.attention.output.dense.weight");
}

TEST_CASE("other parts: a bias that is added twice, also behind an activation and a norm", "[kit][parts]") {
    const Range& range = deberta();
    for (const auto& [stage, bias] :
         std::map<std::string, std::string>{{"layer.0.q", "encoder.layer.0.attention.self.query_proj.bias"},
                                            {"layer.0.ffn_act", "encoder.layer.0.intermediate.dense.bias"},
                                            {"layer.0.attention", "encoder.layer.0.attention.output.dense.bias"},
                                            {"layer.0.output", "encoder.layer.0.output.LayerNorm.bias"}}) {
        INFO(stage);
        const CaseReport report = with_weights(range, std::make_shared<Doubled>(range.model->source, bias));
        CHECK(pattern_of(report, stage) == "it is made with " + bias + " added twice");
    }
}

TEST_CASE("other parts: an activation that no mistake knows is said by what it makes of a few numbers",
          "[kit][parts]") {
    const Range& range = deberta();
    const Matrix<double> inner = dense<double>(of(range, "layer.0.attention").rows(),
                                               range.model->deberta->dense("encoder.layer.0.intermediate.dense"));
    const auto said = [&](auto function) {
        const Tensor<double> act = as_tensor<double>(of(range, "layer.0.ffn_act").shape(), inner.unaryExpr(function));
        return pattern_of(with_stage(range, "layer.0.ffn_act", act, "layer.0.ffn_act"), "layer.0.ffn_act");
    };
    CHECK_THAT(said([](double x) { return std::abs(x); }), StartsWith("another function of the right numbers: f(") &&
                                                               Contains("f(-1) = 1") && Contains("f(1) = 1") &&
                                                               Contains(", where gelu gives ") && Contains("-0.16"));
    CHECK_THAT(said([](double x) { return x > 0 ? x : 0.3 * x; }), Contains("f(-1) = -0.3, f(0) = 0, f(1) = 1"));
    // What depends on the place too is no function; nor is what differs by no more than the points lie apart.
    Index at = 0;
    CHECK_THAT(said([&](double x) { return x + (at++ % 2 == 0 ? 3.0 : 0.0); }), !Contains("another function"));
    CHECK_THAT(said([&](double) { return 1e-4 * static_cast<double>(at++ % 7); }), !Contains("another function"));
}

TEST_CASE("other parts: a dense layer that is left out", "[kit][parts]") {
    const Range& range = deberta();
    const Tensor<double>&context = of(range, "layer.0.context"), &x = of(range, "embeddings.output");
    const Matrix<double> sum = context.rows() + x.rows();
    const Tensor<double> attention = as_tensor<double>(
        x.shape(), layer_norm<double>(sum, range.model->deberta->norm("encoder.layer.0.attention.output.LayerNorm"),
                                      range.model->deberta->config().layer_norm_eps));
    CHECK(pattern_of(with_stage(range, "layer.0.attention", attention, "layer.0.attention"), "layer.0.attention") ==
          "it is made without encoder.layer.0.attention.output.dense");
}

TEST_CASE("other parts: rows of the absolute table that begin elsewhere", "[kit][parts]") {
    const Range& range = deberta();
    const Tensor<double>& h = of(range, "layer.1.output");
    Tensor<double> query = h;
    const Matrix<double> rows = range.model->source->rows_f64("embeddings.position_embeddings.weight", 2, h.extent(1));
    for (Index b = 0; b < h.extent(0); ++b) query.matrix(b) += rows;
    CHECK(pattern_of(with_stage(range, "emd.query.0", query, "emd.query.0"), "emd.query.0") ==
          "the rows of embeddings.position_embeddings.weight are read 2 too far on");
}

TEST_CASE("other parts: another weight is seen from as far away as the next stage that is reported", "[kit][parts]") {
    const Range& range = deberta();
    const auto from_outputs = [&](const Mixed::Other& other, std::map<std::string, double> constant = {}) {
        const auto weights = std::make_shared<Mixed>(range.model->source, other, std::move(constant));
        const Trace all = open_model<double>(range.model->config_json, range.model->location, weights)
                              ->forward(range.segments, Dialect::official);
        Trace candidate;
        for (const char* name : {"layer.0.output", "layer.1.output"}) candidate.add(all.at(name));
        return judged(range, candidate);
    };
    // The stage that is made with it is three steps before the one that shows it.
    CHECK(pattern_of(from_outputs(replacing("encoder.layer.1.attention.output.LayerNorm", "embeddings.LayerNorm")),
                     "layer.1.output") ==
          "it is made with embeddings.LayerNorm instead of encoder.layer.1.attention.output.LayerNorm");
    CHECK(pattern_of(from_outputs([](const std::string& name) { return name; },
                                  {{"encoder.layer.0.intermediate.dense.bias", 0}}),
                     "layer.0.output") == "named");  // 104
    CHECK(pattern_of(from_outputs(replacing("layer.1.", "layer.0.")), "layer.1.output") ==
          "it is made with the weights of encoder.layer.0 instead of those of encoder.layer.1");
}

TEST_CASE("other parts: another stage in the place of one", "[kit][parts]") {
    const Range& range = deberta();
    // The residual of the second sublayer is the context.
    const Tensor<double>&ffn = of(range, "layer.0.ffn"), &x = of(range, "layer.0.context");
    const auto normed = [&](double factor) {
        const Matrix<double> sum = ffn.rows() + factor * x.rows();
        return as_tensor<double>(x.shape(),
                                 layer_norm<double>(sum, range.model->deberta->norm("encoder.layer.0.output.LayerNorm"),
                                                    range.model->deberta->config().layer_norm_eps));
    };
    CHECK(pattern_of(with_stage(range, "layer.0.output", normed(1), "layer.0.output"), "layer.0.output") ==
          "it is made of layer.0.context instead of layer.0.attention");
    const Matrix<double> half = ffn.rows() + 0.5 * of(range, "layer.0.attention").rows();
    const Tensor<double> scaled = as_tensor<double>(
        x.shape(), layer_norm<double>(half, range.model->deberta->norm("encoder.layer.0.output.LayerNorm"),
                                      range.model->deberta->config().layer_norm_eps));
    CHECK(pattern_of(with_stage(range, "layer.0.output", scaled, "layer.0.output"), "layer.0.output") ==
          "it is made of 0.5 times layer.0.attention");
    // One factor of all values says more than that of what they are made of.
    Tensor<double> flipped = of(range, "layer.0.c2c");
    for (Index n = 0; n < flipped.size(); ++n) flipped[n] *= -1;
    CHECK(pattern_of(with_stage(range, "layer.0.c2c", flipped, "layer.0.c2c"), "layer.0.c2c") ==
          "the sign of every value is flipped");
    // What no part explains gets no such sentence.
    CHECK_THAT(pattern_of(with_stage(range, "layer.0.output", normed(0.37), "layer.0.output"), "layer.0.output"),
               !StartsWith("it is made"));
}

TEST_CASE("other parts: terms of a sum that count differently", "[kit][parts]") {
    const auto sum = [](const Range& range, const std::string& layer, const std::vector<std::string>& terms,
                        const std::vector<double>& times) {
        Tensor<double> scores = of(range, layer + terms[0]);
        for (Index n = 0; n < scores.size(); ++n) {
            double all = 0;
            for (std::size_t t = 0; t < terms.size(); ++t) all += times[t] * of(range, layer + terms[t])[n];
            scores[n] = all / std::sqrt((range.model->deberta ? 3.0 : 1.0) *
                                        static_cast<double>(of(range, layer + "q").extent(3)));
        }
        return scores;
    };
    const Range& range = deberta();
    const std::vector<std::string> terms = {"c2c", "c2p", "p2c"};
    const auto said = [&](const std::vector<double>& times) {
        return pattern_of(with_stage(range, "layer.0.scores", sum(range, "layer.0.", terms, times), "layer.0.scores"),
                          "layer.0.scores");
    };
    CHECK(said({-1, 1, 1}) ==
          "its terms count differently than they should: layer.0.c2c -1 times, layer.0.c2p once, layer.0.p2c once");
    CHECK_THAT(said({1, 3, 0}), Contains("layer.0.c2p 3 times, layer.0.p2c not at all"));
    CHECK_THAT(said({1.5, 1, 1}), Contains("layer.0.c2c 1.5 times"));
    CHECK_THAT(said({5, 5, 5}), StartsWith("every value is 5 times"));  // a scale, not a count
    const Range& xl = several_range(Family::transformer_xl, "txl_basic");
    const std::string layer = "segment.0.layer.0.";
    CHECK_THAT(pattern_of(with_stage(xl, layer + "scores", sum(xl, layer, {"ac", "bd"}, {1, -3}), layer + "scores"),
                          layer + "scores"),
               Contains(layer + "ac once, " + layer + "bd -3 times"));
}

TEST_CASE("other parts: scores that are scaled once more before their softmax", "[kit][parts]") {
    const Range& range = deberta();
    for (const double factor : {0.5, std::log(10.0), 1.7}) {
        Tensor<double> probs = of(range, "layer.0.probs");
        const Tensor<double>& scores = of(range, "layer.0.scores");
        const Index keys = probs.extent(3);
        for (Index row = 0; row < probs.size() / keys; ++row) {
            double sum = 0;
            for (Index n = row * keys; n < (row + 1) * keys; ++n)
                if (probs[n] > 0) sum += std::exp(factor * scores[n]);
            for (Index n = row * keys; n < (row + 1) * keys; ++n)
                if (probs[n] > 0) probs[n] = std::exp(factor * scores[n]) / sum;
        }
        const std::string number = factor == 0.5 ? "0.5" : factor == 1.7 ? "1.7" : "2.30259";
        CHECK(pattern_of(with_stage(range, "layer.0.probs", probs, "layer.0.probs"), "layer.0.probs") ==
              "it is made of " + number + " times layer.0.scores");
    }
}

TEST_CASE("other parts: channels that are cut into heads in another order", "[kit][parts]") {
    const Range& range = deberta();
    const Tensor<double>& right = of(range, "layer.0.q");
    const Index heads = right.extent(1), length = right.extent(2), width = right.extent(3);
    Tensor<double> cut(right.shape()), unmoved(right.shape());
    for (Index b = 0; b < right.extent(0); ++b)
        for (Index h = 0; h < heads; ++h)
            for (Index t = 0; t < length; ++t)
                for (Index c = 0; c < width; ++c) {
                    const Index to = ((b * heads + h) * length + t) * width + c, other = c * heads + h;
                    cut[to] = right[((b * heads + other / width) * length + t) * width + other % width];
                    // Cut where it lies, without exchanging heads and tokens.
                    const Index flat = (h * length + t) * width + c, channel = flat % (heads * width);
                    unmoved[to] = right[((b * heads + channel / width) * length + flat / (heads * width)) * width +
                                        channel % width];
                }
    CHECK_THAT(pattern_of(with_stage(range, "layer.0.q", cut, "layer.0.v"), "layer.0.q"),
               StartsWith("the channels are cut into heads as [d,H] instead of [H,d]"));
    // A port that goes on with them is wrong itself; it has not saved something else.
    Trace candidate;
    for (Stage stage : range.sharp.stages()) {
        if (stage.name == "layer.0.q") stage.values = unmoved;
        if (stage.name == "layer.0.c2c") {
            Tensor<double> c2c(stage.shape());
            for (Index at = 0; at < unmoved.extent(0) * heads; ++at)
                c2c.matrix(at) = unmoved.matrix(at) * of(range, "layer.0.k").matrix(at).transpose();
            stage.values = c2c;
        }
        candidate.add(stage);
        if (stage.name == "layer.0.c2c") break;
    }
    const CaseReport report = judged(range, candidate);
    INFO(divergence_text(report));
    REQUIRE(report.all->stages.size() == 1);
    CHECK(report.all->stages[0].saved.empty());
    CHECK(report.all->stages[0].diagnosis.pattern ==
          "the right numbers with their axes in the order [B,T,H,d]: transpose them to [B,H,T,d]");
}

}  // namespace locus::test::test_other_parts

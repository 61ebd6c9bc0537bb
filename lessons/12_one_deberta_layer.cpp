// Lesson 12: One DeBERTa layer
//
// Question: What happens to a sentence inside one layer, stage by stage, and where would a wrong port first differ?
// Before: 08, 10. Minutes: 12. Page: attention.
// Show: layer=2&attention.picture=stage&attention.stage=layer.2.ffn_act
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/compare.h"
#include "core/io/model_request.h"
#include "core/models/block.h"
#include "core/models/deberta_weights.h"
#include "core/stages.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// Root of the mean square: the size of a stage as one number.
double rms(const Stage& stage) {
    double sum = 0;
    for (Index n = 0; n < stage.size(); ++n) sum += stage.at(n) * stage.at(n);
    return std::sqrt(sum / static_cast<double>(stage.size()));
}

/// The largest difference between two tensors of one shape.
double difference(const Tensor<double>& a, const Matrix<double>& b) { return (a.rows() - b).cwiseAbs().maxCoeff(); }

/// Attention of layer 0 over x [1,T,D], head by head -> joined heads [1,T,D].
Tensor<double> attend(const DebertaWeights<double>& weights, const RelativeBuckets& buckets, const Tensor<double>& x) {
    const Index heads = weights.config().num_attention_heads;
    const double width = static_cast<double>(weights.config().attention_head_size);
    const Tensor<double> q = project_heads(x, weights.projection(0, 0), heads);
    const Tensor<double> k = project_heads(x, weights.projection(0, 1), heads);
    Tensor<double> context = project_heads(x, weights.projection(0, 2), heads);
    for (Index h = 0; h < heads; ++h) {
        Matrix<double> scores = content_to_content<double>(q.matrix(h), k.matrix(h));
        scores += content_to_position<double>(q.matrix(h), weights.k_r(0).matrix(h), buckets);
        scores += position_to_content<double>(k.matrix(h), weights.q_r(0).matrix(h), buckets);
        const Matrix<double> probs = masked_softmax<double>(scores / std::sqrt(3 * width), Mask());
        context.matrix(h) = (probs * context.matrix(h)).eval();
    }
    return join_heads(context);
}

/// Mean (row 0) and variance (row 1) of every token's channels, after gamma and beta of a norm are taken off.
Matrix<double> moments(const ConstView<double>& output, const Norm<double>& norm) {
    Matrix<double> found(2, output.rows());
    for (Index t = 0; t < output.rows(); ++t) {
        const RowVector<double> z = (output.row(t) - norm.bias).array() / norm.weight.array();
        found.col(t) << z.mean(), (z.array() - z.mean()).square().mean();
    }
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "12", "One DeBERTa layer",
        "What happens to a sentence inside one layer, stage by stage, and where would a wrong port first differ?");
    return lesson.run(argc, argv, [&] {
        const Checkpoint checkpoint = open_checkpoint(resolve_model("tiny-v3"));
        const auto tokenizer = open_tokenizer(checkpoint.folder);
        const Deberta<double> model = open_deberta<double>(checkpoint);
        const ModelInput input = input_of_texts({"a new store opened"}, *tokenizer, Family::deberta);
        const StageFilter wanted("embeddings.output,relative.*,layer.0.*");
        const Trace trace = model.forward(input, DebertaOptions(), wanted);
        lesson.say(
            "Layer 0 of the built-in tiny-v3 over [CLS] a new store opened [SEP]: batch 1, T = 6 tokens, D = 192 "
            "channels in 6 heads of d = 32, a table of 2k = 64 distances, 768 channels inside the feed-forward "
            "network: after attention each token alone is multiplied with a matrix, bent by GELU (a smooth max(0, x)) "
            "and multiplied with another. Every token is a row x, and W is stored as PyTorch stores it, so q = x "
            "W\u1d40. Every stage has a name, a shape and a size, rms = √(mean of the squares):");
        std::vector<std::vector<std::string>> rows = {{"stage", "shape", "rms", "formula"}};
        for (const Stage& stage : trace.stages())
            rows.push_back({stage.name, to_string(stage.shape()), lesson::text_of(rms(stage), "%.3f"),
                            stage.name == "embeddings.output" ? "norm(word)" : stage.formula});
        lesson.table("in the order in which the model computes:", rows);
        const std::vector<std::string> names = trace.names();
        lesson.prove_equal("stages that stand in the same order in the conformance kit",
                           double(std::is_sorted_until(names.begin(), names.end(), stage_comes_before) - names.begin()),
                           static_cast<double>(names.size()));

        const Tensor<double>& c2p = trace.at("layer.0.c2p").as<double>();
        Tensor<double> flipped = c2p;
        for (Index h = 0; h < c2p.extent(1); ++h) flipped.matrix(h) = -c2p.matrix(h).transpose();
        const double size = c2p.rows().norm() / std::sqrt(double(c2p.size()));
        lesson.say("The size is no checksum: it does not see a transpose, another order or a sign.");
        lesson.prove("c2p of all heads transposed and negated: change of its rms, rounding",
                     flipped.rows().norm() / std::sqrt(double(c2p.size())) - size,
                     double(c2p.size()) * std::numeric_limits<double>::epsilon() * size);
        lesson.prove_equal("its cells of 216 that differ",
                           double((flipped.rows().array() != c2p.rows().array()).count()), 216);
        const DebertaWeights<double> weights(model.config(), checkpoint.weights);
        const auto of = [&](const std::string& name) { return trace.at("layer.0." + name).as<double>(); };
        const Tensor<double>& x = trace.at("embeddings.output").as<double>();
        const RelativeBuckets buckets = model.relative_buckets(input.length(), DebertaOptions());
        const double eps = model.config().layer_norm_eps;
        const Norm<double>&inner = weights.norm("encoder.layer.0.attention.output.LayerNorm"),
              &last = weights.norm("encoder.layer.0.output.LayerNorm");
        const auto part = [&](const std::string& name) { return weights.dense("encoder.layer.0." + name); };
        Block<double> block{part("attention.output.dense"), inner, part("intermediate.dense"), part("output.dense"),
                            last};
        block.eps = eps;
        const Tensor<double> context = attend(weights, buckets, x);
        const Matrix<double> attention =
            layer_norm<double>(dense<double>(context.rows(), block.out) + x.rows(), inner, eps);
        const Matrix<double> ffn_act = activate<double>(dense<double>(attention, block.up), Activation::gelu);
        const Matrix<double> ffn = dense<double>(ffn_act, block.down), summed = ffn + attention;
        const double by_hand =
            std::max({difference(of("context"), context.rows()), difference(of("attention"), attention),
                      difference(of("ffn_act"), ffn_act), difference(of("ffn"), ffn),
                      difference(of("output"), layer_norm<double>(summed, last, eps))});
        lesson.prove("context to output from small parts by hand, largest difference", by_hand, 0);
        const Comparison port =
            compare(trace, model.forward(input, DebertaOptions::of(Dialect::paper), wanted), Tolerance{});
        const std::string first = port.first() ? port.first()->name : "";
        lesson.say(
            "Compare a port from the top: the first stage that differs names the mistake, all later ones inherit it. "
            "A port with δ(j,i) in p2c, as in lesson 9:");
        const auto place = [&](const std::string& name) {
            return static_cast<double>(std::find(names.begin(), names.end(), name) - names.begin() + 1);
        };
        lesson.prove_equal("place in the list of the first that differs, and of p2c", place(first),
                           place("layer.0.p2c"));

        lesson.say(
            "A norm gives each token mean 0 and variance 1 (plus a tiny ε under the root), then a learned γ and β. "
            "Here each follows a residual, the sum with what came in: post-norm. Take γ and β of the last one off the "
            "output y, and mean 0, variance 1 are back. qcqced123's DeBERTa chose pre-norm, x + f(norm(x)), and says "
            "so; there the last step is a sum:");
        Tensor<double> normed = x;
        normed.rows() = layer_norm<double>(x.rows(), inner, eps);
        block.order = NormOrder::pre;
        Trace unused(StageFilter::none());
        const Tensor<double> pre = finish_layer(block, attend(weights, buckets, normed), x, "layer.0", unused);
        const Matrix<double> official = moments(of("output").matrix(), last), review = moments(pre.matrix(), last);
        Matrix<double> variances(2, input.length());
        variances << official.row(1), review.row(1);
        lesson.show("variance of (y − β) / γ of the six tokens, official; below it qcqced123:", variances, "%9.3f");
        const Norm<double> plain{RowVector<double>::Ones(summed.cols()), RowVector<double>::Zero(summed.cols())};
        const double rounding = std::numeric_limits<double>::epsilon() * static_cast<double>(summed.cols());
        const double allowed = eps / moments(summed, plain).row(1).minCoeff() + rounding;
        const auto off = [](const Matrix<double>& found) { return Matrix<double>((found.row(1).array() - 1).abs()); };
        lesson.prove("official: largest mean, rounding allowed", official.row(0).cwiseAbs().maxCoeff(), rounding);
        lesson.prove("official: farthest variance from 1, ε / variance allowed", off(official).maxCoeff(), allowed);
        lesson.prove_at_least("qcqced123: its nearest to 1 is off by so many such bounds",
                              off(review).minCoeff() / allowed, 1000);
        lesson.correct("qcqced123, DeBERTa", "layer_norm_eps = 0.02", "layer_norm_eps = 1e-7");
        const Matrix<double> blurred = moments(layer_norm<double>(summed, last, 0.02), last);
        lesson.prove_at_least("ε = 0.02: the variance is so many times farther from 1; ε is 2e5 times larger",
                              off(blurred).maxCoeff() / off(official).maxCoeff(), 1e5);

        lesson.ask("How many numbers does stage c2p hold for 2 texts, 6 heads and 10 tokens each?",
                   static_cast<double>(element_count({2, 6, 10, 10})), 0, "One per text, head, query and key.");
        const std::vector<std::string> choices = {"layer.0.k", "layer.0.p2c", "layer.0.scores"};
        lesson.choose("Keys are right, but p2c gathers the wrong rows. Which stage differs first?", choices,
                      std::find(choices.begin(), choices.end(), first) - choices.begin(),
                      "Scores differ too, but later in the list.");
        lesson.exercise("A port computes GELU by its tanh formula. Which stage shows it first, and by how much?", [&] {
            const Matrix<double> close = activate<double>(dense<double>(attention, block.up), Activation::gelu_tanh);
            lesson.say("attention cannot know of it, ffn_act is the first. The formulas differ by 4.74e-4 at most:");
            lesson.prove("ffn_act: largest difference", difference(of("ffn_act"), close), 4.74e-4);
        });
        lesson.end({{"core/models/deberta.cpp", "deberta_layer"}, {"core/stages.h", "stage_comes_before"}},
                   "He et al. 2021; microsoft/DeBERTa bert.py; qcqced123, DeBERTa.", "13");
    });
}

// Mistakes 136 to 140.  The backward pass of a whole model by hand: its loss, its norms, its activations and its
// residuals.
#include "core/conformance/formulas/parameter_gradients.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace mean_of_the_loss {  // mistake 136

Variant divided_by(const char* how, const std::function<double(const Replay& at, Index b)>& divisor) {
    LossRule rule = right_loss();
    rule.divisor = divisor;
    return {how,
            {{"/grad.mlm.logits", {"/mlm.logits"}, [rule](const Replay& at) { return gradient_of_logits(at, rule); }}}};
}

double visible_in(const Replay& at) {
    const RowVector<double> visible = visible_tokens<double>(at.input());
    return visible.size() == 0 ? static_cast<double>(at.input().tokens.size()) : visible.sum();
}

/// How many samples have a target.
Index samples_with_targets(const Replay& at) {
    Index count = 0;
    for (Index b = 0; b < at.input().batch(); ++b) count += targets_in(at, b) > 0;
    return count;
}

Mistake mistake() {
    const auto targets = [](const Replay& at) { return static_cast<double>(targets_in(at)); };
    return {.number = 136,
            .name = "the loss is a mean over something else than its targets",
            .symptom = "all gradients are larger or smaller by one factor, or each sample's by its own",
            .betrays = "every row of grad.mlm.logits is the right one times N / M, M what the port divides by",
            .evidence = "transformers #35203; meta-pytorch/torchtune #1875; ml-explore/mlx-lm #1413",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"/grad.mlm.logits"},
            .variants = {
                divided_by("the sum, not the mean", [](const Replay&, Index) { return 1.0; }),
                divided_by("the mean over all tokens",
                           [](const Replay& at, Index) { return static_cast<double>(at.input().tokens.size()); }),
                divided_by("the mean over visible tokens", [](const Replay& at, Index) { return visible_in(at); }),
                divided_by("the sum over tokens, the mean over samples",
                           [](const Replay& at, Index) { return static_cast<double>(at.input().batch()); }),
                divided_by("the mean of every sample's own mean, as gradients are accumulated",
                           [](const Replay& at, Index b) {
                               return static_cast<double>(targets_in(at, b) * samples_with_targets(at));
                           }),
                divided_by("divided twice", [targets](const Replay& at, Index) { return targets(at) * targets(at); })}};
}

}  // namespace mean_of_the_loss

namespace gradient_of_logits_itself {  // mistake 137

Variant by(const char* how, const std::function<void(LossRule& rule)>& change) {
    LossRule rule = right_loss();
    change(rule);
    return {how,
            {{"/grad.mlm.logits", {"/mlm.logits"}, [rule](const Replay& at) { return gradient_of_logits(at, rule); }}}};
}

/// softmax of logits [V], and 1 at the label.
RowVector<double> softmax_of(const RowVector<double>& logits) {
    const RowVector<double> powers = (logits.array() - logits.maxCoeff()).exp();
    return powers / powers.sum();
}
RowVector<double> onehot(Index words, std::int64_t label) {
    RowVector<double> row = RowVector<double>::Zero(words);
    row(std::clamp<Index>(label, 0, words - 1)) = 1;
    return row;
}

/// Tokens without a target are held against word 0, the one that padding has.
void count_all(LossRule& rule) {
    rule.counts = [](std::int64_t) { return true; };
    rule.of_logits = [](const RowVector<double>& logits, std::int64_t label) -> RowVector<double> {
        return softmax_of(logits) - onehot(logits.size(), label);
    };
}

std::vector<Variant> ways() {
    constexpr double kSmoothed = 0.1;
    return {by("softmax alone",
               [](LossRule& rule) {
                   rule.of_logits = [](const RowVector<double>& logits, std::int64_t) { return softmax_of(logits); };
               }),
            by("-onehot alone",
               [](LossRule& rule) {
                   rule.of_logits = [](const RowVector<double>& logits, std::int64_t label) -> RowVector<double> {
                       return -onehot(logits.size(), label);
                   };
               }),
            by("onehot - softmax",
               [](LossRule& rule) {
                   rule.of_logits = [right = rule.of_logits](const RowVector<double>& logits,
                                                             std::int64_t label) -> RowVector<double> {
                       return -right(logits, label);
                   };
               }),
            by("tokens without a target count as word 0", count_all),
            by("the same, in a mean over all tokens",
               [](LossRule& rule) {
                   count_all(rule);
                   rule.divisor = [](const Replay& at, Index) { return static_cast<double>(at.input().tokens.size()); };
               }),
            by("labels smoothed by 0.1", [](LossRule& rule) {
                rule.of_logits = [](const RowVector<double>& logits, std::int64_t label) -> RowVector<double> {
                    const double rest = kSmoothed / static_cast<double>(logits.size());
                    const RowVector<double> smooth = (1 - kSmoothed) * onehot(logits.size(), label);
                    return softmax_of(logits) - RowVector<double>(smooth.array() + rest);
                };
            })};
}

Mistake mistake() {
    return {.number = 137,
            .name = "the gradient of the logits is not softmax - onehot at the targets",
            .symptom = "the loss does not fall, or rare words are learnt worst",
            .betrays = "a row of grad.mlm.logits sums to 0; without onehot it sums to 1 / N",
            .evidence = "PaddlePaddle/Paddle #28622; pytorch/pytorch #63004",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"/grad.mlm.logits"},
            .variants = ways()};
}

}  // namespace gradient_of_logits_itself

namespace norm_backward {  // mistake 138

/// What one row of a norm hands back: xhat, the gradient of y, the weight (1 where there is none), 1 / sigma -> dx.
using RowRule = std::function<RowVector<double>(const RowVector<double>& xhat, const RowVector<double>& d_y,
                                                const RowVector<double>& weight, double rstd)>;

/// (x - mean) / sigma of a row, and 1 / sigma.
std::pair<RowVector<double>, double> normed(const RowVector<double>& x, double eps) {
    const RowVector<double> centred = x.array() - x.mean();
    const double rstd = 1 / std::sqrt(centred.squaredNorm() / static_cast<double>(x.size()) + eps);
    return {centred * rstd, rstd};
}

NormRule handing_back(const RowRule& rule) {
    return [rule](const Matrix<double>& x, const Norm<double>& norm, double eps, const Matrix<double>& d_y) {
        const RowVector<double> weight =
            norm.weight.size() > 0 ? norm.weight : RowVector<double>(RowVector<double>::Ones(x.cols()));
        NormGradients<double> gradients = right_norm(x, norm, eps, d_y);
        for (Index n = 0; n < x.rows(); ++n) {
            const auto [xhat, rstd] = normed(x.row(n), eps);
            gradients.x.row(n) = rule(xhat, d_y.row(n), weight, rstd);
        }
        return gradients;
    };
}

/// rstd (g - a mean(g) - b xhat mean(g xhat)) with g = d_y weight.
RowRule with_means(double a, double b) {
    return [=](const RowVector<double>& xhat, const RowVector<double>& d_y, const RowVector<double>& weight,
               double rstd) -> RowVector<double> {
        const RowVector<double> g = d_y.cwiseProduct(weight);
        const double mean = g.mean(), along = g.cwiseProduct(xhat).mean();
        return rstd * (g.array() - a * mean - b * along * xhat.array());
    };
}

/// The weight's gradient sum d_y t, where t is made of x, y and xhat.
NormRule weighed_by(const std::function<RowVector<double>(const RowVector<double>& x, const RowVector<double>& xhat,
                                                          const Norm<double>& norm, double rstd)>& factor) {
    return [factor](const Matrix<double>& x, const Norm<double>& norm, double eps, const Matrix<double>& d_y) {
        NormGradients<double> gradients = right_norm(x, norm, eps, d_y);
        gradients.weight.setZero();
        for (Index n = 0; n < x.rows(); ++n) {
            const auto [xhat, rstd] = normed(x.row(n), eps);
            gradients.weight += RowVector<double>(d_y.row(n)).cwiseProduct(factor(x.row(n), xhat, norm, rstd));
        }
        return gradients;
    };
}

std::vector<Variant> ways() {
    using Row = RowVector<double>;
    const RowRule right = with_means(1, 1);
    std::vector<Variant> all;
    const auto step = [&](const char* how, const RowRule& rule) {
        all.push_back({how, norm_steps(handing_back(rule))});
    };
    step("without either mean", with_means(0, 0));
    step("without mean(g)", with_means(0, 1));
    step("without xhat mean(g xhat)", with_means(1, 0));
    step("mean(g) subtracted twice", with_means(2, 1));
    step("without the weight", [right](const Row& xhat, const Row& d_y, const Row& weight, double rstd) {
        return right(xhat, d_y, Row::Ones(weight.size()), rstd);
    });
    step("the weight after the means, not before them",
         [right](const Row& xhat, const Row& d_y, const Row& weight, double rstd) -> Row {
             return right(xhat, d_y, Row::Ones(weight.size()), rstd).cwiseProduct(weight);
         });
    step("over the variance, not its root", [right](const Row& xhat, const Row& d_y, const Row& weight, double rstd) {
        return right(xhat, d_y, weight, rstd * rstd);
    });
    step("not over the root of the variance",
         [right](const Row& xhat, const Row& d_y, const Row& weight, double) { return right(xhat, d_y, weight, 1); });
    const auto weight = [&](const char* how, const NormRule& rule) {
        std::vector<Formula> formulas;
        for (Formula& formula : norm_parameters(rule, uses_of_layer))
            if (formula.stem.ends_with(".weight")) formulas.push_back(std::move(formula));
        all.push_back({how, std::move(formulas)});
    };
    weight("the weight's gradient from x, not xhat",
           weighed_by([](const Row& x, const Row&, const Norm<double>&, double) { return x; }));
    weight("the weight's gradient from y, not xhat",
           weighed_by([](const Row&, const Row& xhat, const Norm<double>& norm, double) -> Row {
               return xhat.cwiseProduct(norm.weight) + norm.bias;
           }));
    weight(
        "the weight's gradient from x - mean, not xhat",
        weighed_by([](const Row&, const Row& xhat, const Norm<double>&, double rstd) -> Row { return xhat / rstd; }));
    return all;
}

Mistake mistake() {
    return {.number = 138,
            .name = "the backward pass of a layer norm lacks a part",
            .symptom = "gradients drift from the right ones layer by layer, and training stalls in a deep model",
            .betrays = "what a norm hands back sums to 0 over the channels, and so does its product with xhat",
            .evidence = "tenstorrent/tt-metal #53204; mlpack/mlpack #1923",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"grad.ffn", "grad.context"},
            .variants = ways()};
}

}  // namespace norm_backward

namespace activation_backward {  // mistake 139

double below(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }
double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double gelu_slope(double x) { return below(x) + x * density(x); }
double gelu_tanh_slope(double x) {
    const double inner = std::sqrt(2 / std::numbers::pi), t = std::tanh(inner * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x * (1 - t * t) * inner * (1 + 3 * 0.044715 * x * x) / 2;
}
double sigmoid_slope(double x) {
    const double s = 1 / (1 + std::exp(-1.702 * x));
    return s + 1.702 * x * s * (1 - s);
}

bool is_gelu(Activation activation) { return activation == Activation::gelu || activation == Activation::gelu_tanh; }

/// A GELU's gradient times this slope; of any other activation the right one.
Variant by_slope(const char* how, const std::function<double(double x, Activation activation)>& slope) {
    return {how, activation_steps([slope](const Matrix<double>& x, Activation activation, const Matrix<double>& d_y) {
                if (!is_gelu(activation)) return activate_backward<double>(x, activation, d_y);
                return Matrix<double>(d_y.cwiseProduct(x.unaryExpr([&](double v) { return slope(v, activation); })));
            })};
}

Mistake mistake() {
    const std::vector<std::string> everywhere = {"grad.attention", "grad.conv"};  // that of a convolution is no GELU
    return {.number = 139,
            .name = "the backward pass of the activation is another function's",
            .symptom = "the loss falls, and the model ends up worse than the one it was ported from",
            .betrays = "the slope of GELU is below 0 for x < -0.75, and above 1 for x > 0.75",
            .evidence = "tenstorrent/tt-metal #38643; huggingface/candle #1160",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"grad.attention"},
            .variants = {
                by_slope("of GELU's other form",
                         [](double x, Activation activation) {
                             return activation == Activation::gelu ? gelu_tanh_slope(x) : gelu_slope(x);
                         }),
                by_slope("of x sigmoid(1.702 x)", [](double x, Activation) { return sigmoid_slope(x); }),
                by_slope("Phi(x), without x phi(x)", [](double x, Activation) { return below(x); }),
                by_slope("Phi(x) - x phi(x)", [](double x, Activation) { return below(x) - x * density(x); }),
                by_slope("of ReLU", [](double x, Activation) { return x > 0 ? 1.0 : 0.0; }),
                {"at the output, not at the input",
                 activation_steps([](const Matrix<double>& x, Activation activation, const Matrix<double>& d_y) {
                     return activate_backward<double>(activate<double>(x, activation), activation, d_y);
                 }),
                 everywhere},
                {"left out",
                 activation_steps([](const Matrix<double>&, Activation, const Matrix<double>& d_y) { return d_y; }),
                 everywhere}}};
}

}  // namespace activation_backward

namespace ways_back {  // mistake 140

/// `stem` is `times` times the one part and the other: what goes around a part of a layer, and what goes through it.
Formula around(const char* stem, std::vector<std::string> inputs, const char* residual, double times) {
    return {stem, std::move(inputs), [=](const Replay& at) {
                const Tensor<double> more = mapped(at(residual), [times](double value) { return (times - 1) * value; });
                return sum_of(at.right(stem), more);
            }};
}
Formula around_attention(double times) {
    return around("grad.through_queries", {"grad.attention_sum", "grad.q"}, "grad.attention_sum", times);
}
Formula around_feed_forward(double times) {
    return around("grad.attention", {"grad.ffn", "grad.ffn_in"}, "grad.ffn", times);
}

Formula alone(const char* stem, const char* from, int part = -1) {
    return {stem, {from}, [=](const Replay& at) { return part < 0 ? at(from) : through_projection(at, part); }};
}

Formula nothing(const char* stem, const char* shaped_as) {
    return {stem, {shaped_as}, [=](const Replay& at) { return mapped(at(shaped_as), [](double) { return 0.0; }); }};
}

/// h goes on from the decoder's first query alone.
Formula not_through_decoder_keys() {
    return {"grad.x", {"grad.through_queries"}, [](const Replay& at) {
                const bool is_read_by_decoder =
                    decoder_runs(at) && at.layer() == at.deberta().config().num_hidden_layers - 1;
                return is_read_by_decoder ? at.elsewhere("emd.0.")("grad.x_q") : at.right("grad.x");
            }};
}

Mistake mistake() {
    const Formula no_queries = alone("grad.through_queries", "grad.attention_sum");
    const Formula no_keys = alone("grad.through_keys", "grad.v", 2),
                  no_values = alone("grad.through_keys", "grad.k", 1);
    return {.number = 140,
            .name = "a way back through a layer is lost, or counted twice",
            .symptom = "gradients of early layers vanish, or grow; the last layer's are right",
            .betrays = "what is missing is the gradient of one part: the residual, the queries, the keys or the values",
            .evidence = "paiml/entrenar #313; TrenTorch/TrenTorch #182",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"grad.attention", "grad.x", "grad.x_q"},
            .variants = {{"around attention lost", {around_attention(0)}},
                         {"around the feed-forward part lost", {around_feed_forward(0)}},
                         {"around both lost", {around_attention(0), around_feed_forward(0)}},
                         {"around attention counted twice", {around_attention(2)}},
                         {"around the feed-forward part counted twice", {around_feed_forward(2)}},
                         {"through the feed-forward part lost", {alone("grad.attention", "grad.ffn")}},
                         {"through the queries lost", {no_queries}},
                         {"through the keys lost", {no_keys}},
                         {"through the values lost", {no_values}},
                         {"through queries, keys and values lost",
                          {no_queries, nothing("grad.through_keys", "grad.attention_sum")}},
                         {"through the decoder's keys and values lost", {not_through_decoder_keys()}},
                         {"through the convolution lost", {nothing("grad.through_conv", "/embeddings.output")}}}};
}

}  // namespace ways_back

std::vector<Mistake> model_gradient_mistakes() {
    return {
        mean_of_the_loss::mistake(),           // 136
        gradient_of_logits_itself::mistake(),  // 137
        norm_backward::mistake(),              // 138
        activation_backward::mistake(),        // 139
        ways_back::mistake(),                  // 140
    };
}

}  // namespace locus::conformance

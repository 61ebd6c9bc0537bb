// Mistakes 43 to 45.  The order inside a layer, the convolution beside the first one, and the input.
#include <functional>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/positions/position_rows.h"

namespace locus::conformance {

namespace norm_before_or_after {  // mistake 43

void need(const Replay& at, bool first) {
    if (norm_first(at) != first) throw NotEnough{"a layer with its norms elsewhere"};
}

Tensor<double> normed(const Replay& at, const Tensor<double>& x, const Norm<double>& norm) {
    const double eps = norm_eps_of(at);
    return shaped(x, normed_by(x.rows(), norm, [&](double variance) { return std::sqrt(variance + eps); }));
}

/// q, k or v of x as it is, or after the layer's first norm.
Formula projection(const char* stem, int part, bool norm) {
    return {stem, {part == 0 ? "x_q" : "x"}, [=](const Replay& at) {
                need(at, !norm);
                const Tensor<double> x = attention_input(at, part);
                return project_heads<double>(norm ? normed(at, x, attention_norm_of(at)) : x, projection_of(at, part),
                                             heads_of(at));
            }};
}

Formula feed_forward(bool norm) {
    return {"ffn_act", {"attention"}, [=](const Replay& at) {
                need(at, !norm);
                const Tensor<double> x = norm ? normed(at, at("attention"), ffn_norm_of(at)) : at("attention");
                return shaped(x, activate<double>(dense<double>(x.rows(), ffn_dense_of(at)), activation_of(at)));
            }};
}

/// x + f(norm(x)), twice, with the norms that the checkpoint has.
std::vector<Formula> norms_first(bool table_too) {
    std::vector<Formula> all = {projection("q", 0, true),
                                projection("k", 1, true),
                                projection("v", 2, true),
                                {"attention",
                                 {"context", "x_q"},
                                 [](const Replay& at) {
                                     need(at, false);
                                     return attention_sum(at, at("x_q"));
                                 }},
                                feed_forward(true)};
    for (Formula& formula : output_by([](const Replay& at) {
             need(at, false);
             return output_sum(at);
         }))
        all.push_back(std::move(formula));
    if (!table_too) return all;
    for (const bool key : {false, true})
        all.push_back({key ? "k_r" : "q_r", {"/relative.table"}, [key](const Replay& at) {
                           const Tensor<double> table = normed(at, at("/relative.table"), attention_norm_of(at));
                           const auto& weights = at.deberta();
                           return table_heads(
                               at, table, key ? weights.position_key(at.layer()) : weights.position_query(at.layer()));
                       }});
    return all;
}

/// x + norm(f(x)): after, but before the residual joins.
std::vector<Formula> norm_inside_attention() {
    return {{"attention", {"context", "x_q"}, [](const Replay& at) {
                 need(at, false);
                 const Tensor<double> f =
                     shaped(at("x_q"), dense<double>(at("context").rows(), attention_dense_of(at)));
                 return sum_of(normed(at, f, attention_norm_of(at)), at("x_q"));
             }}};
}

std::vector<Formula> norm_inside_feed_forward() {
    return output_by([](const Replay& at) {
        need(at, false);
        return sum_of(normed(at, at("ffn"), ffn_norm_of(at)), at("attention"));
    });
}

std::vector<Formula> norms_inside() {
    std::vector<Formula> all = norm_inside_attention();
    for (Formula& formula : norm_inside_feed_forward()) all.push_back(std::move(formula));
    return all;
}

/// norm(x + f(x)) where the configuration says norms first.
std::vector<Formula> norms_behind() {
    std::vector<Formula> all = {projection("q", 0, false),
                                projection("k", 1, false),
                                projection("v", 2, false),
                                {"attention",
                                 {"context", "x_q"},
                                 [](const Replay& at) {
                                     need(at, true);
                                     return normed(at, attention_sum(at, at("x_q")), attention_norm_of(at));
                                 }},
                                feed_forward(false)};
    for (Formula& formula : output_by([](const Replay& at) {
             need(at, true);
             return normed(at, output_sum(at), ffn_norm_of(at));
         }))
        all.push_back(std::move(formula));
    return all;
}

Mistake mistake() {
    return {.number = 43,
            .name = "the norms stand before the sublayers instead of after them, or the other way round",
            .symptom = "the output of a layer does not have unit variance; its size grows from layer to layer",
            .betrays = "(output - bias) / weight has mean 0 and variance 1 per row only in a post-norm layer",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"q", "k", "v", "q_r", "k_r", "attention", "output_before_conv", "output"},
            .variants = {{"in front of both sublayers", norms_first(false)},
                         {"in front of both sublayers, the first one for the relative table too", norms_first(true)},
                         {"after the sublayer, before the residual joins", norms_inside()},
                         {"after the sublayer, where the configuration says before", norms_behind()},
                         {"after attention, before the residual joins", norm_inside_attention(), {"attention"}},
                         {"after the feed-forward part, before the residual joins",
                          norm_inside_feed_forward(),
                          {"output_before_conv", "output"}}}};
}

}  // namespace norm_before_or_after

namespace misplaced_convolution {  // mistake 44

Activation other_than(Activation right) { return right == Activation::tanh ? Activation::gelu : Activation::tanh; }

/// conv_act by an activation that follows from the configured one; hide: masked before it, as it should be.
Formula activated(bool hide, const std::function<Matrix<double>(const Matrix<double>&, Activation right)>& by) {
    return {"conv_act", {"conv"}, [=](const Replay& at) {
                need_convolution(at);
                Tensor<double> values = at("conv");
                if (hide) hide_tokens(at, values);
                return shaped(values, by(values.rows(), at.deberta().config().conv_act));
            }};
}

Matrix<double> by_the_right_one(const Matrix<double>& x, Activation right) { return activate<double>(x, right); }

Matrix<double> by_the_other(const Matrix<double>& x, Activation right) {
    return activate<double>(x, other_than(right));
}

Matrix<double> by_relu(const Matrix<double>& x, Activation right) {
    if (right == Activation::relu) throw NotEnough{"another activation than relu"};
    return activate<double>(x, Activation::relu);
}

Matrix<double> by_nothing(const Matrix<double>& x, Activation) { return x; }

/// By a kernel whose taps stand in the other order.
Tensor<double> convolved_backwards(const Replay& at) {
    need_convolution(at);
    Convolution<double> layer = at.deberta().convolution();
    const Index taps = layer.kernel, inputs = layer.weight.cols() / taps;
    for (Index o = 0; o < layer.weight.rows(); ++o)
        for (Index in = 0; in < inputs; ++in) layer.weight.row(o).segment(in * taps, taps).reverseInPlace();
    return convolved_with(at("/embeddings.output"), layer);
}

/// By the numbers of a kernel [out,in,taps] in another layout: number(o, i, t) of the file's is taken for (o, i, t).
template <class Number>
Tensor<double> convolved_by_other_layout(const Replay& at, Number number) {
    need_convolution(at);
    Convolution<double> layer = at.deberta().convolution();
    const Index taps = layer.kernel, width = layer.weight.rows();
    if (layer.groups != 1 || layer.weight.cols() != width * taps) throw NotEnough{"a convolution without groups"};
    const Matrix<double> file = layer.weight;
    for (Index o = 0; o < width; ++o)
        for (Index i = 0; i < width; ++i)
            for (Index t = 0; t < taps; ++t) layer.weight(o, i * taps + t) = file.data()[number(o, i, t, width, taps)];
    return convolved_with(at("/embeddings.output"), layer);
}

Tensor<double> convolved_transposed(const Replay& at) {
    return convolved_by_other_layout(
        at, [](Index o, Index i, Index t, Index width, Index taps) { return (i * width + o) * taps + t; });
}

/// As Keras and TensorFlow store kernels, [taps,in,out].
Tensor<double> convolved_taps_first(const Replay& at) {
    return convolved_by_other_layout(
        at, [](Index o, Index i, Index t, Index width, Index) { return (t * width + i) * width + o; });
}

/// By which rows a text is made longer before it is convolved; `early` and `late` of them stand at its ends, and the
/// rows from `first` on are kept.
enum class Edge { zeros, repeated };
Tensor<double> convolved_between(const Replay& at, Index early, Index late, Index first, Edge edge) {
    const Tensor<double>& x = at("/embeddings.output");
    const Index length = x.extent(1);
    Tensor<double> longer({x.extent(0), early + length + late, x.extent(2)});
    for (Index b = 0; b < x.extent(0); ++b) {
        longer.matrix(b).middleRows(early, length) = x.matrix(b);
        if (edge == Edge::zeros) continue;
        longer.matrix(b).topRows(early).rowwise() = x.matrix(b).row(0);
        longer.matrix(b).bottomRows(late).rowwise() = x.matrix(b).row(length - 1);
    }
    const Tensor<double> all = convolved_with(longer, at.deberta().convolution());
    Tensor<double> y(x.shape());
    for (Index b = 0; b < x.extent(0); ++b) y.matrix(b) = all.matrix(b).middleRows(first, length);
    return y;
}

/// Half of the kernel, by which a tap in the middle becomes the last or the first.
Index half_of_kernel(const Replay& at) {
    need_convolution(at);
    return at.deberta().convolution().kernel / 2;
}

Tensor<double> convolved_causally(const Replay& at) {
    return convolved_between(at, half_of_kernel(at), 0, 0, Edge::zeros);
}

Tensor<double> convolved_ahead(const Replay& at) {
    const Index half = half_of_kernel(at);
    return convolved_between(at, 0, half, half, Edge::zeros);
}

Tensor<double> convolved_with_edges_repeated(const Replay& at) {
    const Index half = half_of_kernel(at);
    return convolved_between(at, half, half, half, Edge::repeated);
}

Tensor<double> convolved_without_bias(const Replay& at) {
    need_convolution(at);
    Convolution<double> layer = at.deberta().convolution();
    layer.bias.setZero();
    return convolved_with(at("/embeddings.output"), layer);
}

/// In each layer after the first too: what it makes of these rows joins the layer's output and is normed with it.
Formula in_every_layer(const char* fed_with) {
    return {"output", {"ffn", "attention", fed_with}, [=](const Replay& at) {
                const DebertaConfig& config = at.deberta().config();
                if (config.conv_kernel_size == 0 || at.layer() == 0 || !at.scope().starts_with("layer."))
                    throw NotEnough{"a layer after the one with a convolution"};
                Tensor<double> rows = convolved_with(at(fed_with), at.deberta().convolution());
                hide_tokens(at, rows);
                const Tensor<double> act = shaped(rows, activate<double>(rows.rows(), config.conv_act));
                const Matrix<double> sum = sum_of(at.right("output"), act).rows();
                Tensor<double> values = shaped(
                    rows, layer_norm<double>(sum, at.deberta().norm("encoder.conv.LayerNorm"), config.layer_norm_eps));
                hide_tokens(at, values);
                return values;
            }};
}

Formula not_normed() {
    return {"output", {"output_before_conv", "conv_act"}, [](const Replay& at) {
                need_convolution(at);
                Tensor<double> values = sum_of(at("output_before_conv"), at("conv_act"));
                hide_tokens(at, values);
                return values;
            }};
}

Formula without_residual() {
    return {"output", {"conv_act"}, [](const Replay& at) {
                need_convolution(at);
                Tensor<double> nothing(at("conv_act").shape());
                Tensor<double> values = merged(at, nothing, at("conv_act"));
                hide_tokens(at, values);
                return values;
            }};
}

Formula output(const char* base, bool hide) {
    return {"output", {"output_before_conv", "conv_act"}, [=](const Replay& at) {
                need_convolution(at);
                Tensor<double> values = merged(at, at(base), at("conv_act"));
                if (hide) hide_tokens(at, values);
                return values;
            }};
}

Mistake mistake() {
    return {.number = 44,
            .name = "the convolution beside layer 0 is fed, joined, activated or masked in another way, or left out",
            .symptom = "layer.0.output is wrong although everything inside layer 0 is right",
            .betrays = "layer.0.output == norm(output_before_conv + act(mask conv(embeddings))) * mask fails",
            .evidence = "candle debertav2.rs: the convolution is todo!()",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"conv", "conv_act", "output"},
            .variants = {
                {"fed with the output of layer 0",
                 {{"conv",
                   {"output_before_conv"},
                   [](const Replay& at) { return convolved(at, at("output_before_conv")); }}}},
                {"added to the embeddings instead of the output of layer 0", {output("/embeddings.output", true)}},
                {"tanh for gelu, or gelu for tanh", {activated(true, by_the_other)}},
                {"not masked before its activation", {activated(false, by_the_right_one)}},
                {"not masked after its norm", {output("output_before_conv", false)}},
                {"left out",
                 {{"output",
                   {"output_before_conv"},
                   [](const Replay& at) {
                       need_convolution(at);
                       return at("output_before_conv");
                   }}}},
                {"the taps of its kernel stand in the other order",
                 {{"conv", {"/embeddings.output"}, convolved_backwards}}},
                {"a kernel whose outputs and inputs are exchanged",
                 {{"conv", {"/embeddings.output"}, convolved_transposed}}},
                {"a kernel read as [taps,in,out]", {{"conv", {"/embeddings.output"}, convolved_taps_first}}},
                {"causal: it reads the token and those before", {{"conv", {"/embeddings.output"}, convolved_causally}}},
                {"it reads the token and those after it", {{"conv", {"/embeddings.output"}, convolved_ahead}}},
                {"the rows at both ends are repeated instead of zeros",
                 {{"conv", {"/embeddings.output"}, convolved_with_edges_repeated}}},
                {"its bias is left out", {{"conv", {"/embeddings.output"}, convolved_without_bias}}},
                {"beside every layer, fed with the embeddings", {in_every_layer("/embeddings.output")}},
                {"beside every layer, fed with the layer's input", {in_every_layer("x")}},
                {"not normed after it joined", {not_normed()}},
                {"the output of layer 0 is not added to it", {without_residual()}},
                {"without its activation", {activated(true, by_nothing)}},
                {"relu for its activation", {activated(true, by_relu)}}}};
}

}  // namespace misplaced_convolution

namespace position_biased_input {  // mistake 45

/// Sinusoids of the positions, as in Vaswani et al. 2017, added to the words.
Formula with_sinusoids(SinusoidLayout layout) {
    return {"/embeddings.output", {"/embeddings.word"}, [layout](const Replay& at) {
                const Index width = at("/embeddings.word").rows().cols(), length = at.input().length();
                if (width % 2 != 0) throw NotEnough{"embeddings of an even width"};
                const Matrix<double> waves = sinusoidal_table<double>(length, width, layout);
                return embeddings_with(at, waves.replicate(at.input().batch(), 1));
            }};
}

Mistake mistake() {
    return {.number = 45,
            .name = "absolute positions or sinusoids are added to the words where the model does not, or left out",
            .symptom = "embeddings.output is wrong everywhere, embeddings.word is right",
            .betrays = "before the norm embeddings.output differs from what it should be by the absolute table's rows",
            .evidence = "transformers #11345; microsoft/DeBERTa #52",
            .lesson = "04",
            .families = {Family::deberta, Family::roformer},
            .stems = {"/embeddings.output"},
            .variants = {
                {"the absolute table",
                 {{"/embeddings.output",
                   {"/embeddings.word"},
                   [](const Replay& at) {
                       const bool biased = at.deberta().config().position_biased_input;
                       return normed_embeddings(at, embedding_sum(at, !biased));
                   }}}},
                {"sinusoids are added", {with_sinusoids(SinusoidLayout::interleaved)}},
                {"sinusoids are added, all sines before all cosines", {with_sinusoids(SinusoidLayout::concatenated)}}}};
}

}  // namespace position_biased_input
std::vector<Mistake> layer_and_input_mistakes() {
    return {
        norm_before_or_after::mistake(),   // 43
        misplaced_convolution::mistake(),  // 44
        position_biased_input::mistake(),  // 45
    };
}

}  // namespace locus::conformance

#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/formulas/layer_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// What a row minus its mean is divided by: variance, eps of the configuration, width.
using Divisor = std::function<double(double variance, double eps, double width)>;

Matrix<double> normed(const Matrix<double>& x, const Norm<double>& norm, double eps, const Divisor& divisor) {
    const auto width = static_cast<double>(x.cols());
    return normed_by(x, norm, [&](double variance) { return divisor(variance, eps, width); });
}

/// RoFormer norms before it projects, and has no mask there.
Tensor<double> roformer_embeddings(const Replay& at, const Divisor& divisor) {
    const RoformerConfig& config = at.roformer();
    const auto& weights = at.model().weights;
    const Tensor<double>& word = at("/embeddings.word");
    Matrix<double> rows = word.rows();
    if (config.type_vocab_size > 0) {
        const IndexTensor& types = at.input().token_types;
        const Matrix<double> table =
            weights.matrix("embeddings.token_type_embeddings.weight", {config.type_vocab_size, config.embedding_size});
        for (Index n = 0; n < rows.rows(); ++n) rows.row(n) += table.row(types.empty() ? 0 : types[n]);
    }
    rows = normed(rows, weights.norm("embeddings.LayerNorm", config.embedding_size), config.layer_norm_eps, divisor);
    if (config.embedding_size != config.hidden_size)
        rows = dense<double>(rows, weights.dense("embeddings_project", config.hidden_size, config.embedding_size));
    return shaped(word, rows);
}

Tensor<double> embeddings(const Replay& at, const Divisor& divisor) {
    if (at.family() == Family::roformer) return roformer_embeddings(at, divisor);
    if (at.family() != Family::deberta) return at.right("/embeddings.output");  // no norm there
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    Tensor<double> output =
        shaped(at("/embeddings.word"), normed(embedding_sum(at, config.position_biased_input),
                                              weights.norm("embeddings.LayerNorm"), config.layer_norm_eps, divisor));
    hide_tokens(at, output);
    return output;
}

Tensor<double> table(const Replay& at, const Divisor& divisor) {
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    if (!config.norm_rel_ebd) return at.right("/relative.table");
    const Matrix<double> rows =
        normed(weights.matrix("encoder.rel_embeddings.weight", {2 * config.span(), config.hidden_size}),
               weights.norm("encoder.LayerNorm"), config.layer_norm_eps, divisor);
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

/// The norms of a layer; where they stand in front the stages behind them are not the place to look.
Tensor<double> of_layer(const Replay& at, const Tensor<double>& sum, const Norm<double>& norm, const Divisor& divisor) {
    if (norm_first(at)) throw NotEnough{"a layer with its norms behind"};
    return shaped(sum, normed(sum.rows(), norm, norm_eps_of(at), divisor));
}

Tensor<double> plain_output(const Replay& at, const Divisor& divisor) {
    return of_layer(at, output_sum(at), ffn_norm_of(at), divisor);
}

/// The norm of the convolution too.
Tensor<double> output(const Replay& at, const Divisor& divisor) {
    if (at.family() != Family::deberta) return plain_output(at, divisor);
    if (!convolves(at)) return at("output_before_conv");
    const auto& weights = at.deberta();
    Tensor<double> values = sum_of(at("output_before_conv"), at("conv_act"));
    values.rows() =
        normed(values.rows(), weights.norm("encoder.conv.LayerNorm"), weights.config().layer_norm_eps, divisor);
    hide_tokens(at, values);
    return values;
}

Variant variant(std::string how, const Divisor& divisor) {
    return {
        std::move(how),
        {{"/embeddings.output", {"/embeddings.word"}, [=](const Replay& at) { return embeddings(at, divisor); }},
         {"/relative.table", {}, [=](const Replay& at) { return table(at, divisor); }},
         {"attention",
          {"context", "x_q"},
          [=](const Replay& at) { return of_layer(at, attention_sum(at, at("x_q")), attention_norm_of(at), divisor); }},
         {"output_before_conv", {"ffn", "attention"}, [=](const Replay& at) { return plain_output(at, divisor); }},
         {"output", {"ffn", "attention", "output_before_conv", "conv_act"}, [=](const Replay& at) {
              return output(at, divisor);
          }}}};
}

Divisor with_eps(double eps) {
    return [eps](double variance, double, double) { return std::sqrt(variance + eps); };
}

}  // namespace

Mistake mistake_40() {
    return {
        .number = 40,
        .name = "the layer norm's eps has another value or place, or its variance divides by D - 1",
        .symptom = "a small drift in every normed stage; a large one for eps 0.02",
        .betrays = "(y - bias) / (y_ref - bias) == sqrt((v + e1) / (v + e2)) per row, or sqrt((D-1)/D) everywhere",
        .evidence = "",
        .lesson = "12",
        .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"attention", "output_before_conv", "output"},
        .variants = {
            variant("eps 1e-12", with_eps(1e-12)),
            variant("eps 1e-7", with_eps(1e-7)),  // right in DeBERTa, wrong in the others
            variant("eps 1e-5", with_eps(1e-5)), variant("eps 0.02", with_eps(0.02)),
            variant("eps outside the root",
                    [](double variance, double eps, double) { return std::sqrt(variance) + eps; }),
            variant("unbiased variance", [](double variance, double eps,
                                            double width) { return std::sqrt(variance * width / (width - 1) + eps); }),
            variant("unbiased variance, eps outside the root", [](double variance, double eps, double width) {
                return std::sqrt(variance * width / (width - 1)) + eps;
            })}};
}

}  // namespace locus::conformance

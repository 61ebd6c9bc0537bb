// Mistakes 121, 123 and 124.  How rows are cut into heads, which norm stands where, and what a residual adds.
#include <functional>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/models/layers.h"

namespace locus::conformance {

namespace heads_cut_otherwise {  // mistake 121

/// Where the rows [T,H d] of a sample are cut into heads [H,T,d] otherwise.
enum class Cut {
    without_transpose,  // the buffer [T,H,d] is read as [H,T,d]
    channels_first      // a row is read as [d,H]
};

/// Right heads [B,H,T,d], or those of a table [H,2k,d] -> the same numbers where the wrong cut puts them.
Tensor<double> cut_otherwise(const Tensor<double>& right, Cut cut) {
    const bool is_table = right.rank() == 3;
    const Tensor<double> heads =
        is_table ? Tensor<double>({1, right.extent(0), right.extent(1), right.extent(2)}, right.values()) : right;
    const Index count = heads.extent(1), length = heads.extent(2), width = heads.extent(3);
    if (count < 2 || width < 2 || (cut == Cut::without_transpose && length < 2))
        throw NotEnough{"two heads, channels and tokens"};
    const Tensor<double> rows = join_heads(heads);  // [B,T,H d]
    if (cut == Cut::without_transpose) return {right.shape(), rows.values()};
    const Tensor<double> wrong = each_head(heads, length, width, [&](Index, Index h, Index b) {
        Matrix<double> one(length, width);
        for (Index c = 0; c < width; ++c) one.col(c) = rows.matrix(b).col(c * count + h);
        return one;
    });
    return {right.shape(), wrong.values()};
}

Formula cut_by(const char* stem, const char* from, Cut cut) {
    return {stem, {from}, [=](const Replay& at) { return cut_otherwise(at.right(stem), cut); }};
}

std::vector<Formula> of_words(Cut cut) {
    return {cut_by("q", "x_q", cut), cut_by("k", "x", cut), cut_by("v", "x", cut)};
}

std::vector<Formula> of_positions(Cut cut) {
    return {cut_by("q_r", "/relative.table", cut), cut_by("k_r", "/relative.table", cut),
            cut_by("r_k", "/positions.r", cut)};
}

std::vector<Formula> of_both(Cut cut) {
    std::vector<Formula> all = of_words(cut);
    for (Formula& formula : of_positions(cut)) all.push_back(std::move(formula));
    return all;
}

/// The buffer of the context's heads [H,T,d], read as [T,H d].
Formula joined_the_same_way() {
    return {"context", {"probs", "v"}, [](const Replay& at) {
                const Tensor<double> right = at.right("context");
                return Tensor<double>(right.shape(), split_heads(right, at("v").extent(1)).values());
            }};
}

/// The context's heads joined as [d,H], as the rows were cut.
Formula joined_channels_first() {
    return {"context", {"probs", "v"}, [](const Replay& at) {
                const Tensor<double> right = at.right("context");
                const Index heads = at("v").extent(1), width = right.extent(2) / heads;
                Tensor<double> joined(right.shape());
                for (Index h = 0; h < heads; ++h)
                    for (Index c = 0; c < width; ++c)
                        joined.rows().col(c * heads + h) = right.rows().col(h * width + c);
                return joined;
            }};
}

Mistake mistake() {
    std::vector<Formula> there_and_back = of_words(Cut::without_transpose);
    there_and_back.push_back(joined_the_same_way());
    std::vector<Formula> channels_first = of_both(Cut::channels_first);
    channels_first.push_back(joined_channels_first());
    return {.number = 121,
            .name = "rows are cut into heads as [H,T,d] without a transpose, or as [d,H]",
            .symptom = "plausible sizes, nonsense out; right for a single head",
            .betrays = "head 0 of q has the right numbers of the first tokens, or every H-th channel",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"q", "k", "v", "q_r", "k_r", "r_k"},
            .variants = {
                {"queries, keys and values without a transpose", of_words(Cut::without_transpose), {"q", "k", "v"}},
                {"the same, and the context joined without one", there_and_back, {"q", "k", "v"}},
                {"those of positions too, without a transpose", of_both(Cut::without_transpose)},
                {"those of positions alone, without a transpose",
                 of_positions(Cut::without_transpose),
                 {"q_r", "k_r", "r_k"}},
                {"queries, keys and values as [d,H]", of_words(Cut::channels_first), {"q", "k", "v"}},
                {"those of positions too, as [d,H]", of_both(Cut::channels_first)},
                {"those of positions too, as [d,H], and the context joined so", channels_first},
                {"those of positions alone, as [d,H]", of_positions(Cut::channels_first), {"q_r", "k_r", "r_k"}}}};
}

}  // namespace heads_cut_otherwise

namespace norms_exchanged {  // mistake 123

Tensor<double> normed(const Replay& at, const Tensor<double>& sum, const Norm<double>& norm) {
    if (norm_first(at)) throw NotEnough{"a post-norm layer"};
    return shaped(sum, layer_norm<double>(sum.rows(), norm, norm_eps_of(at)));
}

std::vector<Formula> attention_by_the_second() {
    return {{"attention", {"context", "x_q"}, [](const Replay& at) {
                 return normed(at, attention_sum(at, at("x_q")), ffn_norm_of(at));
             }}};
}

std::vector<Formula> output_by_the_first() {
    return output_by([](const Replay& at) { return normed(at, output_sum(at), attention_norm_of(at)); });
}

/// The layer's other norm in front, with pre_lnorm.
Matrix<double> by_the_first(const Replay& at, const Matrix<double>& rows, const Norm<double>&) {
    return layer_norm<double>(rows, attention_norm_of(at), norm_eps_of(at));
}

Matrix<double> by_the_second(const Replay& at, const Matrix<double>& rows, const Norm<double>&) {
    return layer_norm<double>(rows, ffn_norm_of(at), norm_eps_of(at));
}

/// The relative table, or the embeddings, by the other's norm; both are as wide as the model.
Formula table_by_the_embeddings() {
    return {"/relative.table", {}, [](const Replay& at) {
                const auto& weights = at.deberta();
                const DebertaConfig& config = weights.config();
                if (!config.norm_rel_ebd || config.embedding_size != config.hidden_size)
                    throw NotEnough{"two norms of one width"};
                const Matrix<double> rows = layer_norm<double>(
                    weights.matrix("encoder.rel_embeddings.weight", {2 * config.span(), config.hidden_size}),
                    weights.norm("embeddings.LayerNorm"), config.layer_norm_eps);
                return as_tensor<double>({rows.rows(), rows.cols()}, rows);
            }};
}

Formula embeddings_by_the_table() {
    return {"/embeddings.output", {"/embeddings.word"}, [](const Replay& at) {
                const auto& weights = at.deberta();
                const DebertaConfig& config = weights.config();
                if (!config.norm_rel_ebd || config.embedding_size != config.hidden_size)
                    throw NotEnough{"two norms of one width"};
                Tensor<double> output =
                    shaped(at("/embeddings.word"),
                           layer_norm<double>(embedding_sum(at, config.position_biased_input),
                                              weights.norm("encoder.LayerNorm"), config.layer_norm_eps));
                hide_tokens(at, output);
                return output;
            }};
}

Mistake mistake() {
    std::vector<Formula> both = attention_by_the_second();
    for (Formula& formula : output_by_the_first()) both.push_back(std::move(formula));
    std::vector<Formula> both_in_front = attention_behind(by_the_second);
    for (Formula& formula : feed_forward_behind(by_the_first)) both_in_front.push_back(std::move(formula));
    return {
        .number = 123,
        .name = "a norm has another's weight and bias: the two of a layer exchanged, or one used twice",
        .symptom = "rows have the right size, every channel is stretched and moved by something else",
        .betrays = "(attention - bias) / weight has mean 0 and variance 1 with the other norm's weight and bias",
        .evidence = "",
        .lesson = "12",
        .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"attention", "output_before_conv", "output", "/relative.table", "/embeddings.output"},
        .variants = {
            {"the two of a layer are exchanged", both},
            {"after attention that of the feed-forward part", attention_by_the_second(), {"attention"}},
            {"after the feed-forward part that of attention", output_by_the_first(), {"output_before_conv", "output"}},
            {"that of the embeddings for the relative table", {table_by_the_embeddings()}, {"/relative.table"}},
            {"that of the relative table for the embeddings", {embeddings_by_the_table()}, {"/embeddings.output"}},
            {"the two of a layer, which stand in front, are exchanged", both_in_front, {"q", "k", "v", "ffn_act"}},
            {"in front of attention that of the feed-forward part", attention_behind(by_the_second), {"q", "k", "v"}},
            {"in front of the feed-forward part that of attention", feed_forward_behind(by_the_first), {"ffn_act"}}}};
}

}  // namespace norms_exchanged

namespace another_residual {  // mistake 124

using Residual = std::function<Tensor<double>(const Replay&)>;

std::vector<Formula> around_attention(Residual residual) {
    return {{"attention", {"context", "x_q"}, [residual](const Replay& at) {
                 const Tensor<double> added = residual(at);
                 if (added.shape() != at("x_q").shape()) throw NotEnough{"a residual of the model's width"};
                 return after_sum(at, attention_sum(at, added), attention_norm_of(at));
             }}};
}

/// `residual` is made of "attention" and "x_q".
std::vector<Formula> around_the_feed_forward_part(Residual residual) {
    std::vector<Formula> all = output_by(
        [residual](const Replay& at) { return after_sum(at, sum_of(at("ffn"), residual(at)), ffn_norm_of(at)); });
    for (Formula& formula : all) formula.inputs.push_back("x_q");
    return all;
}

Mistake mistake() {
    const auto twice = [](const char* stem) { return [stem](const Replay& at) { return sum_of(at(stem), at(stem)); }; };
    return {.number = 124,
            .name = "a residual is added twice, or is another one: the context, or the layer's input",
            .symptom = "plausible, and wrong from the first layer on",
            .betrays = "attention == norm(dense(context) + 2 x), output == norm(ffn + x)",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"attention", "output_before_conv", "output"},
            .variants = {{"around attention, twice", around_attention(twice("x_q")), {"attention"}},
                         {"around attention, the context",
                          around_attention([](const Replay& at) { return at("context"); }),
                          {"attention"}},
                         {"around the feed-forward part, twice",
                          around_the_feed_forward_part(twice("attention")),
                          {"output_before_conv", "output"}},
                         {"around the feed-forward part, the layer's input",
                          around_the_feed_forward_part([](const Replay& at) { return at("x_q"); }),
                          {"output_before_conv", "output"}}}};
}

}  // namespace another_residual

std::vector<Mistake> head_cut_mistakes() { return {heads_cut_otherwise::mistake()}; }

std::vector<Mistake> residual_mistakes() {
    return {
        norms_exchanged::mistake(),   // 123
        another_residual::mistake(),  // 124
    };
}

}  // namespace locus::conformance

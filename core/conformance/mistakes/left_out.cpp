// Mistakes 95 to 97, 100 to 104 and 115.  What an early port forgets or adds around attention: a causal mask, a norm at
// the end, residuals, biases, token types.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"
#include "core/products.h"

namespace locus::conformance {

namespace causal_mask {  // mistake 95

/// No query sees what comes after it, or, where the triangle is the other one, what comes before it.
Formula triangle(bool hides_the_past) {
    return probs_by([=](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
        if (scores.rows() != scores.cols() || scores.rows() < 2) throw NotEnough{"two tokens that see each other"};
        Mask mask = visible_pairs(at, b, h);
        if (mask.size() == 0) mask = Mask::Ones(scores.rows(), scores.cols());
        for (Index i = 0; i < mask.rows(); ++i)
            for (Index j = 0; j < mask.cols(); ++j)
                if (hides_the_past ? j < i : j > i) mask(i, j) = 0;
        return masked_softmax<double>(scores, mask, at.masked_row());
    });
}

/// XLNet reads both ways: the mask of attn_type uni, with the positions of bi.
Tensor<double> masked_as_one_way(const Replay& at) {
    if (at.xlnet().direction == Direction::unidirectional) throw NotEnough{"text that is read both ways"};
    return visible_to_stream(at, [&](Index b) {
        TwoStreamHiding hiding = hiding_of(at, b);
        hiding.direction = Direction::unidirectional;
        const TwoStreamMasks masks = two_stream_masks(queries_of(at), hiding);
        return at.is_query_stream() ? masks.query : masks.content;
    });
}

Mistake mistake() {
    const auto both_ways = [](const Replay& at, const Matrix<double>& scores, Index b, Index) {
        if (at.family() != Family::roformer || !at.roformer().causal) throw NotEnough{"a decoder"};
        return masked_softmax<double>(scores, visible_keys(at, b), at.masked_row());
    };
    return {.number = 95,
            .name = "a causal mask in an encoder, or none in a decoder",
            .symptom = "no token knows what comes after it, or all of them do",
            .betrays = "probs[i,j] == 0 for j > i; in a decoder they are not",
            .evidence = "",
            .lesson = "03",
            .families = {Family::deberta, Family::roformer, Family::xlnet},
            .stems = {"bd", "probs"},
            .variants = {{"a causal mask in an encoder", {triangle(false)}},
                         {"no causal mask, although is_decoder is true", {probs_by(both_ways)}},
                         {"a causal mask in an encoder, of the other triangle", {triangle(true)}},
                         {"XLNet: a causal mask, although attn_type is bi",
                          {{"visible", {"query_tokens"}, masked_as_one_way}}}}};
}

}  // namespace causal_mask

namespace context_by_columns {  // mistake 96

/// The buffer of each sample's [T,D] under the other order of its axes; `written`: it is stored so, else read so.
Tensor<double> other_order(const Tensor<double>& right, bool written) {
    Tensor<double> y(right.shape());
    const Index rows = right.extent(1), columns = right.extent(2);
    if (rows < 2) throw NotEnough{"two tokens"};
    for (Index b = 0; b < right.extent(0); ++b)
        for (Index t = 0; t < rows; ++t)
            for (Index c = 0; c < columns; ++c) {
                const Index by_rows = t * columns + c, by_columns = c * rows + t;
                y[b * rows * columns + (written ? by_columns : by_rows)] =
                    right[b * rows * columns + (written ? by_rows : by_columns)];
            }
    return y;
}

Mistake mistake() {
    const auto way = [](bool written) {
        return std::vector<Formula>{{"context", {"probs", "v"}, [written](const Replay& at) {
                                         return other_order(at.right("context"), written);
                                     }}};
    };
    return {.number = 96,
            .name = "the context is read by columns: its tokens and channels change places in the buffer",
            .symptom = "probs and v are right, every channel of every token is another one",
            .betrays = "context as one list holds the right numbers in the order of the transposed matrix",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"context"},
            .variants = {{"read by columns", way(false)}, {"written by columns", way(true)}}};
}

}  // namespace context_by_columns

namespace norm_behind_the_encoder {  // mistake 97

Tensor<double> normed(const Replay& at, const Tensor<double>& right) {
    const DebertaConfig& config = at.deberta().config();
    if (!config.norm_rel_ebd) throw NotEnough{"a norm named encoder.LayerNorm"};
    return shaped(right,
                  layer_norm<double>(right.rows(), at.deberta().norm("encoder.LayerNorm"), config.layer_norm_eps));
}

Tensor<double> closed(const Replay& at) {
    if (!at.scope().starts_with("layer.") || at.layer() != at.deberta().config().num_hidden_layers - 1)
        throw NotEnough{"the last layer of the encoder"};
    return normed(at, at.right("output"));
}

Tensor<double> read_by_the_head(const Replay& at) { return normed(at, at.right("/head_input")); }

Mistake mistake() {
    return {
        .number = 97,
        .name = "the encoder is closed by a norm: encoder.LayerNorm, which is the relative table's",
        .symptom = "every layer is right but the last, whose output is normed once more",
        .betrays = "output of the last layer == norm(right output) by the weights of encoder.LayerNorm",
        .evidence = "",
        .lesson = "12",
        .families = {Family::deberta},
        .stems = {"output", "/mlm.transform"},
        .variants = {
            {"in the last layer's output", {{"output", {"output_before_conv", "conv_act"}, closed}}, {"output"}},
            {"in what the head reads", {{"/head_input", {"/emd.1.output"}, read_by_the_head}}, {"/mlm.transform"}}}};
}

}  // namespace norm_behind_the_encoder

namespace token_types_left_out {  // mistake 100

constexpr const char* kTypes = "embeddings.token_type_embeddings.weight";

/// The table of token types [types,E].
Matrix<double> type_table(const Replay& at, Index types, Index width) {
    if (types == 0) throw NotEnough{"a table of token types"};
    return at.model().weights.matrix(kTypes, {types, width});
}

/// The type of token n of all B*T, as it was given.
std::int64_t type_of(const ModelInput& input, Index n) { return input.token_types.empty() ? 0 : input.token_types[n]; }

/// What token n takes of the table in place of the row of its own type.
using RowOf = std::function<RowVector<double>(const Matrix<double>& table, Index n)>;

RowOf own_row(const Replay& at) {
    return [&input = at.input()](const Matrix<double>& table, Index n) -> RowVector<double> {
        return table.row(type_of(input, n));
    };
}

/// Where the norm of the embeddings stands: it takes in the rows of types, they are added to what it gives, or it is
/// left out.
enum class NormOfEmbeddings { behind_types, before_types, nowhere };

/// embeddings.output with other rows of types in its sum.
Tensor<double> of_deberta(const Replay& at, const RowOf& row) {
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    const Matrix<double> table = type_table(at, config.type_vocab_size, config.embedding_size);
    Matrix<double> change(at.input().batch() * at.input().length(), config.embedding_size);
    for (Index n = 0; n < change.rows(); ++n)
        change.row(n) = row(table, n) - RowVector<double>(table.row(type_of(at.input(), n)));
    return embeddings_with(at, std::move(change));
}

Tensor<double> of_roformer(const Replay& at, const RowOf& row, NormOfEmbeddings norm) {
    const RoformerConfig& config = at.roformer();
    const auto& weights = at.model().weights;
    const Matrix<double> table = type_table(at, config.type_vocab_size, config.embedding_size);
    Matrix<double> rows = at("/embeddings.word").rows();
    if (rows.rows() != at.input().batch() * at.input().length() || rows.cols() != table.cols())
        throw NotEnough{"embeddings.word, a row for each token"};
    Matrix<double> of_types(rows.rows(), rows.cols());
    for (Index n = 0; n < rows.rows(); ++n) of_types.row(n) = row(table, n);
    if (norm != NormOfEmbeddings::before_types) rows += of_types;
    if (norm != NormOfEmbeddings::nowhere)
        rows = layer_norm<double>(rows, weights.norm("embeddings.LayerNorm", config.embedding_size),
                                  config.layer_norm_eps);
    if (norm == NormOfEmbeddings::before_types) rows += of_types;
    if (config.embedding_size != config.hidden_size)
        rows = dense<double>(rows, weights.dense("embeddings_project", config.hidden_size, config.embedding_size));
    return shaped(at("/embeddings.word"), rows);
}

Formula embeddings_with(const std::function<RowOf(const Replay&)>& row_of) {
    return {"/embeddings.output", {"/embeddings.word"}, [row_of](const Replay& at) {
                const RowOf row = row_of(at);
                return at.family() == Family::roformer ? of_roformer(at, row, NormOfEmbeddings::behind_types)
                                                       : of_deberta(at, row);
            }};
}

/// The norm takes what else is in the sum, and each token's row is added to what it gives.
Tensor<double> added_behind_the_norm(const Replay& at) {
    const RowOf own = own_row(at);
    if (at.family() == Family::roformer) return of_roformer(at, own, NormOfEmbeddings::before_types);
    const DebertaConfig& config = at.deberta().config();
    const Matrix<double> table = type_table(at, config.type_vocab_size, config.embedding_size);
    if (config.embedding_size != config.hidden_size) throw NotEnough{"types as wide as the model"};
    Matrix<double> of_types(at.input().tokens.size(), config.hidden_size);
    for (Index n = 0; n < of_types.rows(); ++n) of_types.row(n) = own(table, n);
    const Matrix<double> others = embedding_sum(at, config.position_biased_input) - of_types;
    const Matrix<double> normed =
        layer_norm<double>(others, at.deberta().norm("embeddings.LayerNorm"), config.layer_norm_eps);
    Tensor<double> output = shaped(at("/embeddings.word"), normed + of_types);
    hide_tokens(at, output);
    return output;
}

Mistake mistake() {
    return {.number = 100,
            .name = "the rows of the token types, even that of type 0, are not added, or behind the norm",
            .symptom = "everything is a little off from the embeddings on",
            .betrays = "before the norm embeddings.output differs by the type's row, the same for all tokens of a type",
            .evidence = "",
            .lesson = "04",
            .families = {Family::deberta, Family::roformer},
            .stems = {"/embeddings.output"},
            .variants = {{"not added", {embeddings_with([](const Replay&) -> RowOf {
                              return [](const Matrix<double>& table, Index) -> RowVector<double> {
                                  return RowVector<double>::Zero(table.cols());
                              };
                          })}},
                         {"added behind the norm of the embeddings",
                          {{"/embeddings.output", {"/embeddings.word"}, added_behind_the_norm}}}}};
}

}  // namespace token_types_left_out

namespace other_token_types {  // mistake 115

using token_types_left_out::embeddings_with, token_types_left_out::RowOf, token_types_left_out::type_of;

/// The rows that type(n) names, where tokens of two types are given and some take another row than their own.
Formula of_types(const std::function<std::int64_t(const ModelInput&, Index n)>& type) {
    return embeddings_with([type](const Replay& at) -> RowOf {
        const ModelInput& input = at.input();
        bool differs = false;
        for (Index n = 0; n < input.tokens.size(); ++n) differs = differs || type(input, n) != type_of(input, n);
        if (!differs) throw NotEnough{"two token types"};
        return [type, &input](const Matrix<double>& table, Index n) -> RowVector<double> {
            const std::int64_t row = type(input, n);
            if (row < 0 || row >= table.rows()) throw NotEnough{"a table of two token types"};
            return table.row(row);
        };
    });
}

/// The type of the token so many places further on in its text, or at the end of it.
std::int64_t type_beside(const ModelInput& input, Index n, Index places) {
    const Index first = n / input.length() * input.length();
    return type_of(input, std::clamp(n + places, first, first + input.length() - 1));
}

/// Arguments in another order: 1 for tokens, 0 for padding.
std::int64_t mask_as_type(const ModelInput& input, Index n) {
    if (input.mask.rank() == 3) throw NotEnough{"a mask of tokens"};
    return input.mask.empty() ? 1 : input.mask[n];
}

Mistake mistake() {
    return {
        .number = 115,
        .name = "tokens take rows of other types than their own: all that of type 0, or the texts meet elsewhere",
        .symptom =
            "single texts are right, pairs (entailment, search, answers) are a little off, and no more than that",
        .betrays =
            "before the norm embeddings.output differs by one row of the types less another, and only where "
            "types are not 0, or where they change",
        .evidence = "elixir-nx/bumblebee #444, antonellof/ferrox #44, knights-analytics/hugot #89",
        .lesson = "04",
        .families = {Family::deberta, Family::roformer},
        .stems = {"/embeddings.output"},
        .variants = {{"every token is of type 0", {of_types([](const ModelInput&, Index) { return std::int64_t{0}; })}},
                     {"types 0 and 1 exchanged",
                      {of_types([](const ModelInput& input, Index n) { return 1 - type_of(input, n); })}},
                     {"types change one token too early",
                      {of_types([](const ModelInput& input, Index n) { return type_beside(input, n, 1); })}},
                     {"types change one token too late",
                      {of_types([](const ModelInput& input, Index n) { return type_beside(input, n, -1); })}},
                     {"the mask stands for the types", {of_types(mask_as_type)}}}};
}

}  // namespace other_token_types

namespace residual_left_out {  // mistake 101

std::vector<Formula> of_attention() {
    return {{"attention", {"context"}, [](const Replay& at) {
                 const Tensor<double> f =
                     shaped(at("x_q"), dense<double>(at("context").rows(), attention_dense_of(at)));
                 return after_sum(at, f, attention_norm_of(at));
             }}};
}

// The norms of those sums, or, with pre_lnorm, in front.

Matrix<double> as_they_are(const Replay&, const Matrix<double>& rows, const Norm<double>&) { return rows; }

void need_norm_behind(const Replay& at) {
    if (norm_first(at)) throw NotEnough{"a post-norm layer"};
}

std::vector<Formula> attention_as_it_is() {
    return {{"attention", {"context", "x_q"}, [](const Replay& at) {
                 need_norm_behind(at);
                 return attention_sum(at, at("x_q"));
             }}};
}

std::vector<Formula> output_as_it_is() {
    return output_by([](const Replay& at) {
        need_norm_behind(at);
        return output_sum(at);
    });
}

std::vector<Formula> embeddings_as_they_are() {
    return {{"/embeddings.output", {"/embeddings.word"}, [](const Replay& at) {
                 using namespace token_types_left_out;
                 if (at.family() == Family::roformer) return of_roformer(at, own_row(at), NormOfEmbeddings::nowhere);
                 Tensor<double> sum =
                     shaped(at("/embeddings.word"), embedding_sum(at, at.deberta().config().position_biased_input));
                 hide_tokens(at, sum);
                 return sum;
             }}};
}

std::vector<Formula> both(std::vector<Formula> some, const std::vector<Formula>& more) {
    some.insert(some.end(), more.begin(), more.end());
    return some;
}

Mistake mistake() {
    return {
        .number = 101,
        .name = "a residual, or the norm of its sum or in front of a layer's part, is left out",
        .symptom = "the signal of the word is lost within a few layers, or it grows from layer to layer",
        .betrays = "attention == norm(dense(context)), or dense(context) + x; output == norm(ffn), or ffn + attention",
        .evidence = "",
        .lesson = "12",
        .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"attention", "output_before_conv", "output"},
        .variants = {{"around attention", of_attention(), {"attention"}},
                     {"around the feed-forward part",
                      output_by([](const Replay& at) { return after_sum(at, at("ffn"), ffn_norm_of(at)); }),
                      {"output_before_conv", "output"}},
                     {"both norms of a layer", both(attention_as_it_is(), output_as_it_is())},
                     {"the norm after attention", attention_as_it_is(), {"attention"}},
                     {"the norm after the feed-forward part", output_as_it_is(), {"output_before_conv", "output"}},
                     {"the norm of the embeddings", embeddings_as_they_are(), {"/embeddings.output"}},
                     {"both norms of a layer, which stand in front",
                      both(attention_behind(as_they_are), feed_forward_behind(as_they_are)),
                      {"q", "k", "v", "ffn_act"}},
                     {"the norm in front of attention", attention_behind(as_they_are), {"q", "k", "v"}},
                     {"the norm in front of the feed-forward part", feed_forward_behind(as_they_are), {"ffn_act"}}}};
}

}  // namespace residual_left_out

namespace projections_without_bias {  // mistake 102

constexpr const char* kStems[] = {"q", "k", "v"};

Formula bare(int part) {
    return {kStems[part], {part == 0 ? "x_q" : "x"}, [part](const Replay& at) {
                if (at.family() == Family::deberta && at.deberta().config().version == 1)
                    throw NotEnough{"projections of their own for q, k and v"};
                const Dense<double> projection = projection_of(at, part);
                if (projection.bias.size() == 0) throw NotEnough{"a bias"};
                const Tensor<double>& x = at(part == 0 ? "x_q" : "x");
                return project_heads<double>(x, {projection.weight, {}}, heads_of(at));
            }};
}

/// q_r (part 0) or k_r by the weight, and maybe the bias, of another projection that content and positions share.
Formula positions_by(int part, int taken, bool with_bias) {
    return {part == 0 ? "q_r" : "k_r", {"/relative.table"}, [=](const Replay& at) {
                const auto& weights = at.deberta();
                if (!weights.config().share_att_key) throw NotEnough{"projections that positions share"};
                Dense<double> projection =
                    taken == 0 ? weights.position_query(at.layer()) : weights.position_key(at.layer());
                if (!with_bias) projection.bias = {};
                return table_heads(at, at("/relative.table"), projection);
            }};
}

Formula bare_positions(int part) { return positions_by(part, part, false); }

Mistake mistake() {
    return {.number = 102,
            .name = "the projections of queries, keys or values have lost their biases",
            .symptom = "scores and contexts are off by terms that do not depend on one of the two tokens",
            .betrays = "q minus the right one is the same row for every token: -b",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer},
            .stems = {"q", "k", "v"},
            .variants = {{"all three", {bare(0), bare(1), bare(2)}, {"q", "k", "v"}},
                         {"queries", {bare(0)}, {"q"}},
                         {"keys", {bare(1)}, {"k"}},
                         {"values", {bare(2)}, {"v"}},
                         {"queries, those of positions too", {bare(0), bare_positions(0)}, {"q"}},
                         {"keys, those of positions too", {bare(1), bare_positions(1)}, {"k"}},
                         {"all three, those of positions too",
                          {bare(0), bare(1), bare(2), bare_positions(0), bare_positions(1)},
                          {"q", "k", "v"}}}};
}

}  // namespace projections_without_bias

namespace projections_exchanged {  // mistake 103

Formula by(int part, int taken) {
    return {projections_without_bias::kStems[part], {part == 0 ? "x_q" : "x"}, [=](const Replay& at) {
                if (at.family() == Family::deberta && at.deberta().config().version == 1)
                    throw NotEnough{"projections of their own for q, k and v"};
                if (has_memory(at) && part > 0 && taken > 0) return at.right(projections_without_bias::kStems[taken]);
                return project_heads<double>(projection_input(at, part), projection_of(at, taken), heads_of(at));
            }};
}

Mistake mistake() {
    return {.number = 103,
            .name = "two of the projections of queries, keys and values are exchanged, or one stands for another",
            .symptom = "plausible sizes, nonsense out",
            .betrays = "k equals the right v and v the right k, or both equal the right k",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"q", "k", "v"},
            .variants = {{"keys and values", {by(1, 2), by(2, 1)}, {"k", "v"}},
                         {"queries and keys", {by(0, 1), by(1, 0)}, {"q", "k"}},
                         {"queries and keys, those of positions too",
                          {by(0, 1), by(1, 0), projections_without_bias::positions_by(0, 1, true),
                           projections_without_bias::positions_by(1, 0, true)},
                          {"q", "k"}},
                         {"values by that of keys", {by(2, 1)}, {"v"}},
                         {"values by that of queries", {by(2, 0)}, {"v"}},
                         {"keys by that of queries", {by(1, 0)}, {"k"}},
                         {"keys by that of values", {by(1, 2)}, {"k"}},
                         {"queries by that of keys", {by(0, 1)}, {"q"}}}};
}

}  // namespace projections_exchanged

namespace dense_without_bias {  // mistake 104

std::string layer_of(const Replay& at) {
    if (at.family() != Family::deberta && at.family() != Family::roformer) throw NotEnough{"an encoder's layer"};
    return "encoder.layer." + std::to_string(at.layer()) + ".";
}

Formula attention() {
    return {"attention", {"context", "x_q"}, [](const Replay& at) {
                layer_of(at);
                const Matrix<double> rows =
                    dense<double>(at("context").rows(), {attention_dense_of(at).weight, {}}) + at("x_q").rows();
                return shaped(at("x_q"), layer_norm<double>(rows, attention_norm_of(at), norm_eps_of(at)));
            }};
}

Formula ffn_act() {
    return {"ffn_act", {"attention"}, [](const Replay& at) {
                return shaped(
                    at("attention"),
                    activate<double>(dense<double>(ffn_input(at), {ffn_dense_of(at).weight, {}}), activation_of(at)));
            }};
}

Formula ffn() {
    return {"ffn", {"ffn_act"}, [](const Replay& at) {
                Tensor<double> right = at.right("ffn");
                right.rows().rowwise() -= RowVector<double>(ffn_down_of(at).bias);
                return right;
            }};
}

Mistake mistake() {
    return {.number = 104,
            .name = "a dense layer after attention or in the feed-forward part has lost its bias",
            .symptom = "every token is off by the same row before the next norm or activation",
            .betrays = "ffn minus the right one is the same row for every token",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"attention", "ffn_act", "ffn"},
            .variants = {{"after attention", {attention()}, {"attention"}},
                         {"into the feed-forward part", {ffn_act()}, {"ffn_act"}},
                         {"out of the feed-forward part", {ffn()}, {"ffn"}}}};
}

}  // namespace dense_without_bias

std::vector<Mistake> encoder_part_mistakes() {
    return {
        causal_mask::mistake(),              // 95
        context_by_columns::mistake(),       // 96
        norm_behind_the_encoder::mistake(),  // 97
    };
}

std::vector<Mistake> left_out_mistakes() {
    return {
        token_types_left_out::mistake(),      // 100
        residual_left_out::mistake(),         // 101
        projections_without_bias::mistake(),  // 102
        projections_exchanged::mistake(),     // 103
        dense_without_bias::mistake(),        // 104
    };
}

std::vector<Mistake> token_type_mistakes() { return {other_token_types::mistake()}; }

}  // namespace locus::conformance

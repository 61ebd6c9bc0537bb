// Mistakes 65 to 69 and 105 to 107.  Transformer-XL: relative sinusoids, the shift, u and v, and the factor of the
// words.
#include <cmath>

#include "core/attention/relative.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/relative_rows.h"

namespace locus::conformance {

namespace other_distances {  // mistake 65

Formula reversed(const std::string& stem) {
    return {stem, {}, [stem](const Replay& at) {
                Tensor<double> rows = at.right(stem);
                rows.matrix() = rows.matrix().colwise().reverse().eval();
                return rows;
            }};
}

std::vector<Variant> ways() {
    std::vector<Variant> all = {
        {"rising instead of falling", {reversed("/positions.r"), reversed("/positions.r_backward")}}};
    for (Variant& other : other_signs_and_clamps()) all.push_back(std::move(other));
    all.push_back(other_beginning());
    return all;
}

Mistake mistake() {
    return {.number = 65,
            .name = "rows of positions stand for other distances: rising, of the other sign, or clamp_len is misread",
            .symptom = "near and far are exchanged: a token looks at what is longest ago; or far keys differ",
            .betrays = "positions.r and r_k equal the right ones upside down, or only rows beyond clamp_len are wrong",
            .evidence = "",
            .lesson = "25",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"/positions.r"},
            .variants = ways()};
}

}  // namespace other_distances

namespace shift_without_mask {  // mistake 66

Tensor<double> softmax_of_everything(const Replay& at) {
    const Tensor<double>& scores = at("scores");
    return without_unused(at, each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index, Index) {
                              return masked_softmax<double>(scores.matrix(n), {});
                          }));
}

Mistake mistake() {
    const Formula bd = {"bd", {"bd_raw", "query_tokens"}, bd_of_all_cells};
    const Formula probs = {"probs", {"scores", "query_tokens"}, softmax_of_everything};
    return {.number = 66,
            .name = "the mask is not applied to bd, to probs or to both: hidden cells hold what the shift leaves there",
            .symptom = "the future leaks, with values that belong to another row",
            .betrays =
                "bd is right where the mask shows something; probs of hidden keys are above 0. "
                "Where probs are right, bd was only reported before its mask",
            .evidence = "kimiyoung/transformer-xl #129, #132; OpenTransformer #25",
            .lesson = "26",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"bd"},
            .variants = {{"bd and probs without a mask", {bd, probs}},
                         {"bd reported before its mask", {bd}},
                         {"probs without a mask", {probs}}}};
}

}  // namespace shift_without_mask

namespace shift_by_another_offset {  // mistake 67

/// All rows of bd_raw [B,H,T,R]: of the query stream only those of targets are kept, its other queries were 0, so that
/// v alone met the positions.
Tensor<double> every_row(const Replay& at) {
    const Tensor<double>& raw = at("bd_raw");
    if (!at.is_query_stream()) return raw;
    if (at.xlnet().bi_data) throw NotEnough{"one set of positions"};
    const Tensor<double>&v = at("bias.v"), &r_k = at("r_k"), &tokens = at("query_tokens");
    return each_head(raw, queries_of(at), raw.extent(3), [&](Index n, Index h, Index b) {
        const RowVector<double> unasked = r_k.matrix(h) * RowVector<double>(v.matrix().row(h)).transpose();
        Matrix<double> rows = unasked.replicate(queries_of(at), 1);
        for (Index p = 0; p < raw.extent(2); ++p)
            if (const auto token = static_cast<Index>(tokens.matrix()(b, p)); token >= 0)
                rows.row(token) = raw.matrix(n).row(p);
        return rows;
    });
}

/// bd[i,j] read at place(i, j) of a head's buffer of all queries, 0 beyond its end; hidden cells 0.  In the query
/// stream i is the token that a target predicts.
template <class Place>
Tensor<double> read_at(const Replay& at, Place place) {
    const Tensor<double> all = every_row(at);
    const Tensor<double>& tokens = at("query_tokens");
    const Index keys = keys_of(at), columns = all.extent(3);
    return without_hidden(at, each_head(all, tokens.extent(1), keys, [&](Index n, Index, Index b) {
                              const auto rows = all.matrix(n);
                              Matrix<double> moved = Matrix<double>::Zero(tokens.extent(1), keys);
                              for (Index p = 0; p < moved.rows(); ++p) {
                                  const auto token = static_cast<Index>(tokens.matrix()(b, p));
                                  for (Index j = 0; j < keys && token >= 0; ++j)
                                      moved(p, j) = place(rows, token, j, columns);
                              }
                              return moved;
                          }));
}

/// Number `flat` of a row-major matrix; 0 beyond its end.
double number_of(const Eigen::Ref<const Matrix<double>>& rows, Index flat) {
    return flat < rows.size() ? rows(flat / rows.cols(), flat % rows.cols()) : 0;
}

/// Columns `extra` behind the right ones, T - 1 - i + j in Transformer-XL and T - i + j in XLNet; 0 where there is no
/// such column.
Tensor<double> columns_behind(const Replay& at, Index extra) {
    const Index first = queries_of(at) - (at.family() == Family::xlnet ? 0 : 1) + extra;
    return without_hidden(at,
                          shifted_by(at, at("bd_raw"), [&](Index token, Index key) { return key + first - token; }));
}

/// Transformer-XL under XLNet's offset, XLNet under Transformer-XL's.
Tensor<double> one_off(const Replay& at) { return columns_behind(at, at.family() == Family::xlnet ? -1 : 1); }

Tensor<double> one_off_the_other_way(const Replay& at) {
    return columns_behind(at, at.family() == Family::xlnet ? 1 : -1);
}

/// XLNet's slice begins one column late: where no column is left it reads on into the next row.
Tensor<double> sliced_one_late(const Replay& at) {
    at.xlnet();
    return read_at(at, [&](const auto& rows, Index i, Index j, Index columns) {
        return number_of(rows, i * columns + j + queries_of(at) - i + 1);
    });
}

/// Transformer-XL's buffer loses its first T numbers without ever getting a column of zeros.
Tensor<double> not_padded(const Replay& at) {
    at.transformer_xl();
    return read_at(at, [&](const auto& rows, Index i, Index j, Index columns) {
        return number_of(rows, queries_of(at) + i * columns + j);
    });
}

/// XLNet's shift on Transformer-XL's rows: it has no column for distance 0 and reads on into the next row.
Tensor<double> reading_on(const Replay& at) {
    at.transformer_xl();
    return read_at(at, [&](const auto& rows, Index i, Index j, Index columns) {
        return number_of(rows, i * columns + j + queries_of(at) - i);
    });
}

/// The folded buffer loses its last row instead of its first.
Tensor<double> last_row_dropped(const Replay& at) {
    const bool padded = at.family() == Family::transformer_xl;
    return read_at(at, [&](const auto& rows, Index i, Index j, Index columns) {
        if (!padded) return number_of(rows, i * (columns - 1) + j);
        const Index flat = i * columns + j, width = columns + 1;
        return flat % width == 0 ? 0.0 : rows(flat / width, flat % width - 1);
    });
}

/// XLNet: the buffer that was folded into [R,T] keeps as many rows as there are keys, instead of as many columns
/// after the second view.
Tensor<double> sliced_too_early(const Replay& at) {
    at.xlnet();
    return read_at(at, [&](const auto& rows, Index i, Index j, Index) {
        return number_of(rows, queries_of(at) + i * keys_of(at) + j);
    });
}

/// bd_raw as it is, cut to the keys; it shows distance K - 1 - j in every row.
Tensor<double> not_shifted(const Replay& at) {
    return without_hidden(at, shifted_by(at, at("bd_raw"), [](Index, Index key) { return key; }));
}

Mistake mistake() {
    const auto bd = [](Tensor<double> (*compute)(const Replay&)) {
        return std::vector<Formula>{{"bd", {"bd_raw", "visible", "query_tokens"}, compute}};
    };
    return {
        .number = 67,
        .name = "the shift has another offset, drops the wrong row, or is left out",
        .symptom = "every distance is off by one, or all are mixed up, or all queries have the same; bd_raw is right",
        .betrays = "bd[i,j] equals bd_raw at the column of distance M + i - j - 1 (XLNet: + 1), or bd_raw[i,j] itself",
        .evidence = "xlnet #97; keras-xlnet #22; labml #185, #218",
        .lesson = "26",
        .families = {Family::transformer_xl, Family::xlnet},
        .stems = {"bd"},
        .variants = {{"off by one", bd(one_off)},
                     {"off by one, reading on into the next row", bd(reading_on)},
                     {"the last row is dropped instead of the first", bd(last_row_dropped)},
                     {"rows are sliced to the number of keys before the second view", bd(sliced_too_early)},
                     {"no shift: bd is bd_raw", bd(not_shifted)},
                     {"off by one the other way", bd(one_off_the_other_way)},
                     {"the buffer is folded without its column of zeros", bd(not_padded)},
                     {"off by one the other way, by a slice that reads on into the next row", bd(sliced_one_late)}}};
}

}  // namespace shift_by_another_offset

namespace u_and_v {  // mistake 68

Formula bias(const std::string& stem, const std::string& from, double (*factor)(double root)) {
    return {stem, {}, [from, factor](const Replay& at) {
                const double times = factor(std::sqrt(static_cast<double>(at("q").extent(3))));
                return mapped(at.right(from), [&](double value) { return value * times; });
            }};
}

std::vector<Formula> both(double (*factor)(double root)) {
    return {bias("bias.u", "bias.u", factor), bias("bias.v", "bias.v", factor)};
}

/// u and v [H,d], with the numbers of place(h, c) of a buffer [H,d].
std::vector<Formula> both_read_at(Index (*place)(Index head, Index channel, Index heads, Index width)) {
    const auto read = [place](const char* stem) {
        return Formula{stem, {}, [stem, place](const Replay& at) {
                           const Tensor<double> right = at.right(stem);
                           const Index heads = right.extent(0), width = right.extent(1);
                           Tensor<double> other(right.shape());
                           for (Index n = 0; n < right.size(); ++n)
                               other[n] = right[place(n / width, n % width, heads, width)];
                           return other;
                       }};
    };
    return {read("bias.u"), read("bias.v")};
}

/// q . (k + u), q . (r_k + v): added to what queries are multiplied with.
std::vector<Formula> added_to_keys() {
    const auto term = [](const char* stem, const char* keys, const char* of) {
        return Formula{stem, {"q", keys, of, "query_tokens"}, [=](const Replay& at) {
                           const Tensor<double>&q = at("q"), &k = at(keys);
                           const Matrix<double> own = at(of).matrix();
                           const Index rows = k.extent(k.rank() - 2);
                           return without_unused(at, each_head(q, q.extent(2), rows, [&](Index n, Index h, Index) {
                                                     const Matrix<double> moved =
                                                         k.matrix(k.rank() == 4 ? n : h).rowwise() + own.row(h);
                                                     return products_of_rows<double>(q.matrix(n), moved);
                                                 }));
                       }};
    };
    return {term("ac", "k", "bias.u"), term("bd_raw", "r_k", "bias.v")};
}

Mistake mistake() {
    const auto as_it_is = [](double) { return 1.0; };
    const auto nothing = [](double) { return 0.0; };
    const auto subtracted = [](double) { return -1.0; };
    return {.number = 68,
            .name = "u and v are exchanged, scaled, subtracted, left out, read in another order or added to keys",
            .symptom = "a small error that is the same for every query: u shifts columns of ac, v distances of bd",
            .betrays = "ac minus the right one is the same in every row; so is bd_raw",
            .evidence = "",
            .lesson = "25",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"ac", "bd_raw"},
            .variants = {
                {"exchanged", {bias("bias.u", "bias.v", as_it_is), bias("bias.v", "bias.u", as_it_is)}},
                {"times sqrt(d)", both([](double root) { return root; })},
                {"left out", both(nothing)},
                {"divided by sqrt(d)", both([](double root) { return 1 / root; })},
                {"u left out", {bias("bias.u", "bias.u", nothing)}},
                {"v left out", {bias("bias.v", "bias.v", nothing)}},
                {"subtracted", both(subtracted)},
                {"read as [d,H] instead of [H,d]",
                 both_read_at([](Index h, Index c, Index heads, Index) { return c * heads + h; })},
                {"those of the first head in every head", both_read_at([](Index, Index c, Index, Index) { return c; })},
                {"added to keys instead of queries", added_to_keys()},
                {"u stands for both", {bias("bias.v", "bias.u", as_it_is)}},
                {"v stands for both", {bias("bias.u", "bias.v", as_it_is)}},
                {"u subtracted", {bias("bias.u", "bias.u", subtracted)}},
                {"v subtracted", {bias("bias.v", "bias.v", subtracted)}}}};
}

}  // namespace u_and_v

namespace sinusoids_interleaved {  // mistake 69

/// [sin | cos] -> sin, cos, sin, cos, ...
Formula interleaved(const std::string& stem) {
    return {stem, {}, [stem](const Replay& at) {
                const Tensor<double> right = at.right(stem);
                const Index pairs = right.extent(1) / 2;
                Tensor<double> rows(right.shape());
                for (Index t = 0; t < pairs; ++t) {
                    rows.matrix().col(2 * t) = right.matrix().col(t);
                    rows.matrix().col(2 * t + 1) = right.matrix().col(pairs + t);
                }
                return rows;
            }};
}

/// RoFormer: rotary.sin and rotary.cos [T,d/2] are columns `sine` and `cosine` of one table [sin | cos], or of one
/// whose sines and cosines alternate.
template <class Column>
std::vector<Formula> halves_of_one_table(Column column) {
    const auto taken = [column](Index part) {
        return [column, part](const Replay& at) {
            const Tensor<double> sin = at.right("/rotary.sin"), cos = at.right("/rotary.cos");
            if (sin.shape() != cos.shape() || sin.extent(1) < 2) throw NotEnough{"two pairs of channels"};
            const Index pairs = sin.extent(1);
            Tensor<double> rows(sin.shape());
            for (Index t = 0; t < pairs; ++t) {
                const auto [is_cosine, from] = column(part, t, pairs);
                rows.matrix().col(t) = (is_cosine ? cos : sin).matrix().col(from);
            }
            return rows;
        };
    };
    return {{"/rotary.sin", {}, taken(0)}, {"/rotary.cos", {}, taken(1)}};
}

Mistake mistake() {
    using Column = std::pair<bool, Index>;
    const auto alternating_in_halves = [](Index part, Index t, Index pairs) {
        const Index column = part * pairs + t;
        return Column{column % 2 == 1, column / 2};
    };
    const auto halves_alternating = [](Index part, Index t, Index pairs) {
        const Index column = 2 * t + part;
        return Column{column >= pairs, column % pairs};
    };
    return {
        .number = 69,
        .name = "sine and cosine alternate in the rows of positions instead of standing one after the other",
        .symptom = "the position term is noise, the content term right",
        .betrays = "positions.r is right after exchanging channels; row of distance 0 is 0, 1, 0, 1, ...",
        .evidence = "",
        .lesson = "25",
        .families = {Family::transformer_xl, Family::xlnet, Family::roformer},
        .stems = {"/positions.r", "/rotary.sin", "/rotary.cos"},
        .variants = {
            {"in the rows of relative positions", {interleaved("/positions.r"), interleaved("/positions.r_backward")}},
            {"in the table of angles, whose halves are taken for sines and cosines",
             halves_of_one_table(alternating_in_halves)},
            {"in the table of angles as it is read, not as it is stored", halves_of_one_table(halves_alternating)}}};
}

}  // namespace sinusoids_interleaved

std::vector<Mistake> transformer_xl_mistakes() {
    return {
        other_distances::mistake(),          // 65
        shift_without_mask::mistake(),       // 66
        shift_by_another_offset::mistake(),  // 67
        u_and_v::mistake(),                  // 68
        sinusoids_interleaved::mistake(),    // 69
    };
}

// Mistakes 105 to 107.

namespace shift_from_the_other_side {  // mistake 105

Tensor<double> mirrored(const Replay& at) {
    const Tensor<double>& raw = at("bd_raw");
    const Index first = first_distance(at), memory = at.remembered(), last = raw.extent(3) - 1;
    return without_hidden(at, shifted_by(at, raw, [&](Index token, Index key) {
                              return last - distance_column(first, memory, token, key);
                          }));
}

Mistake mistake() {
    return {.number = 105,
            .name = "the shift counts its columns from the wrong side",
            .symptom = "near and far, or past and future, are exchanged; bd_raw is right",
            .betrays = "bd[i,j] equals bd_raw at the last column minus the right one",
            .evidence = "cohere_transcribe_rs PR 4",
            .lesson = "26",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"bd"},
            .variants = {{"", {{"bd", {"bd_raw", "visible", "query_tokens"}, mirrored}}}}};
}

}  // namespace shift_from_the_other_side

namespace biases_of_the_first_layer {  // mistake 106

/// The bias of layer 0 in a layer after it that has its own.
Formula of_layer_0(const std::string& stem) {
    return {stem, {}, [stem](const Replay& at) {
                if (at.layer() == 0) throw NotEnough{"a layer after the first"};
                if (at.family() == Family::transformer_xl && !at.transformer_xl().untie_r)
                    throw NotEnough{"biases of every layer"};
                const std::string& scope = at.scope();
                return at.elsewhere(scope.substr(0, scope.find("layer.")) + "layer.0.").right(stem);
            }};
}

Mistake mistake() {
    return {.number = 106,
            .name = "every layer has the biases u and v of layer 0, although each has its own",
            .symptom = "layer 0 is right, all others are a little off",
            .betrays = "ac minus the right one is the same in every row from layer 1 on, and 0 in layer 0",
            .evidence = "CTranslate2 #2102",
            .lesson = "25",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"ac", "bd_raw", "ef"},
            .variants = {{"u, v and the bias of segments",
                          {of_layer_0("bias.u"), of_layer_0("bias.v"), of_layer_0("bias.s")},
                          {"ac"}}}};
}

}  // namespace biases_of_the_first_layer

namespace embeddings_not_scaled {  // mistake 107

/// The other families have no such factor: their embeddings are normed, or stand as they are.
Tensor<double> multiplied(const Replay& at) {
    if (at.family() == Family::transformer_xl) throw NotEnough{"embeddings without a factor"};
    const Tensor<double> right = at.right("/embeddings.output");
    const double root = std::sqrt(static_cast<double>(right.extent(right.rank() - 1)));
    return mapped(right, [root](double value) { return value * root; });
}

/// sqrt(E) word + the other rows, in families that norm their sum.  Where words are all of it, this is a smaller eps.
Tensor<double> words_multiplied(const Replay& at) {
    if (has_memory(at)) throw NotEnough{"embeddings with a norm"};
    const bool alone = at.family() == Family::roformer
                           ? at.roformer().type_vocab_size == 0
                           : at.deberta().config().type_vocab_size == 0 && !at.deberta().config().position_biased_input;
    if (alone) throw NotEnough{"other rows beside those of words"};
    const Matrix<double> words = at("/embeddings.word").rows();
    return embeddings_with(at, (std::sqrt(static_cast<double>(words.cols())) - 1) * words);
}

Mistake mistake() {
    return {.number = 107,
            .name = "the embeddings are not multiplied by sqrt(D), or are where the model does not",
            .symptom = "positions drown the words, or words their positions",
            .betrays = "embeddings.output is 1 / sqrt(D), or sqrt(D), of the right one everywhere",
            .evidence = "",
            .lesson = "25",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"/embeddings.output"},
            .variants = {
                {"not multiplied",
                 {{"/embeddings.output",
                   {"/embeddings.word"},
                   [](const Replay& at) {
                       if (at.family() != Family::transformer_xl) throw NotEnough{"embeddings with a factor"};
                       const double root = std::sqrt(static_cast<double>(at.transformer_xl().d_model));
                       return mapped(at.right("/embeddings.output"), [root](double value) { return value / root; });
                   }}}},
                {"multiplied where the model does not", {{"/embeddings.output", {"/embeddings.word"}, multiplied}}},
                {"the words alone multiplied, before their norm",
                 {{"/embeddings.output", {"/embeddings.word"}, words_multiplied}}}}};
}

}  // namespace embeddings_not_scaled

std::vector<Mistake> later_relative_mistakes() {
    return {
        shift_from_the_other_side::mistake(),  // 105
        biases_of_the_first_layer::mistake(),  // 106
        embeddings_not_scaled::mistake(),      // 107
    };
}

}  // namespace locus::conformance

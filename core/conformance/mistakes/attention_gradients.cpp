// Mistakes 129 to 135.  The backward pass of attention by hand: its scale, its rotation, its terms, its dropout, its
// transposes, its shift and the ends of its relative table.
#include <cmath>

#include "core/attention/relative.h"
#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/gradients.h"
#include "core/conformance/formulas/roformer.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace scale_of_the_backward_pass {  // mistake 129

/// What scores are divided by: sqrt(n d) of n terms in DeBERTa, elsewhere sqrt(d).
double divisor_of(const Replay& at) {
    const Index width = at("q").extent(3);
    if (at.family() != Family::deberta) return std::sqrt(static_cast<double>(width));
    return right_divisor(at);
}

/// A gradient times the divisor, or once more divided by it; or times sqrt(n), as if there were one term.
enum class Scale { left_out, twice, of_one_term };
Formula scaled(const std::string& stem, std::vector<std::string> inputs, Scale scale) {
    return {stem, std::move(inputs), [=](const Replay& at) {
                const double divisor = divisor_of(at);
                const double root = std::sqrt(static_cast<double>(at("q").extent(3)));
                if (scale == Scale::of_one_term && divisor == root) throw NotEnough{"several terms"};
                const double factor = scale == Scale::left_out ? divisor
                                      : scale == Scale::twice  ? 1 / divisor
                                                               : divisor / root;
                return mapped(at.right(stem), [factor](double value) { return factor * value; });
            }};
}

std::vector<Formula> in_terms(const std::vector<std::string>& stems, Scale scale) {
    std::vector<Formula> all;
    for (const std::string& stem : stems) all.push_back(scaled(stem, {"grad.scores"}, scale));
    return all;
}

std::vector<Variant> ways() {
    const std::vector<std::string> terms = {"grad.c2c", "grad.c2p",   "grad.p2c",  "grad.ac",
                                            "grad.bd",  "grad.q_rot", "grad.k_rot"};
    std::vector<Variant> all = {{"left out", in_terms(terms, Scale::left_out)},
                                {"applied twice", in_terms(terms, Scale::twice)},
                                {"sqrt(d) for sqrt(n d) of n terms", in_terms(terms, Scale::of_one_term)}};
    for (const Scale scale : {Scale::left_out, Scale::twice}) {
        const std::string how = scale == Scale::left_out ? "left out of " : "applied twice in ";
        for (const char* term : {"c2c", "c2p", "p2c", "ac", "bd"})
            all.push_back({how + term + " alone", in_terms({std::string("grad.") + term}, scale)});
        for (const char* stem : {"grad.q", "grad.k", "grad.k_r", "grad.q_r", "grad.r_k", "grad.bias.u", "grad.bias.v"})
            all.push_back({how + stem + " alone", {scaled(stem, {"grad.scores", "q", "k"}, scale)}, {stem}});
    }
    return all;
}

Mistake mistake() {
    return {.number = 129,
            .name = "the backward pass forgets the scale of the scores, applies it twice, or forgets it in one term",
            .symptom = "gradients of queries and keys have another size, those of values are right",
            .betrays = "grad.q is sqrt(n d) or 1 / sqrt(n d) of the right one, or would be for one of its terms",
            .evidence = "",
            .lesson = "29",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl},
            .stems = {"grad.q", "grad.k", "grad.k_r", "grad.q_r", "grad.r_k", "grad.bias.u", "grad.bias.v"},
            .variants = ways()};
}

}  // namespace scale_of_the_backward_pass

namespace rotation_of_the_backward_pass {  // mistake 130

enum class Turn { forward, none, back_twice, back_by_halves };

/// The gradient of what was rotated, turned otherwise than back once between neighbours.
Formula turned(const char* stem, Turn turn) {
    const std::string rotated = std::string(stem) + "_rot";
    return {stem, {rotated, "/rotary.sin", "/rotary.cos"}, [=](const Replay& at) {
                const bool of_value = std::string(stem) == "grad.v";
                if (of_value && !rotates_values(at)) throw NotEnough{"rotated values"};
                const Tensor<double>& x = at(rotated);
                if (turn == Turn::none) return x;
                const RotaryTable<double> table{at("/rotary.sin").matrix(), at("/rotary.cos").matrix()};
                return each_head(x, x.extent(2), x.extent(3), [&](Index n, Index, Index) {
                    if (turn == Turn::forward) return rotate<double>(x.matrix(n), table, RotaryLayout::interleaved);
                    const bool halves = turn == Turn::back_by_halves;
                    const Matrix<double> once = rotate_back<double>(
                        x.matrix(n), table, halves ? RotaryLayout::half_split : RotaryLayout::interleaved);
                    return halves ? once : rotate_back<double>(once, table, RotaryLayout::interleaved);
                });
            }};
}

/// Values that were never rotated are turned back all the same.
Formula values_turned_back() {
    return {"grad.v", {"grad.v_rot", "/rotary.sin", "/rotary.cos"}, [](const Replay& at) {
                if (rotates_values(at)) throw NotEnough{"values that are not rotated"};
                const Tensor<double>& x = at("grad.v_rot");
                const RotaryTable<double> table{at("/rotary.sin").matrix(), at("/rotary.cos").matrix()};
                return each_head(x, x.extent(2), x.extent(3), [&](Index n, Index, Index) {
                    return rotate_back<double>(x.matrix(n), table, RotaryLayout::interleaved);
                });
            }};
}

/// dS k for dS k_rot, and dS^T q for dS^T q_rot.
Formula of_unrotated(bool queries) {
    return {queries ? "grad.q_rot" : "grad.k_rot", {"grad.scores", queries ? "k" : "q"}, [=](const Replay& at) {
                const Tensor<double>& x = at(queries ? "k" : "q");
                const double root = std::sqrt(static_cast<double>(x.extent(3)));
                const Tensor<double> sum =
                    queries ? times_by_head(at("grad.scores"), x) : transposed_times_by_head(at("grad.scores"), x);
                return mapped(sum, [root](double value) { return value / root; });
            }};
}

Formula probs_by_unrotated_values() {
    return {"grad.probs", {"grad.context", "v", "keep"}, [](const Replay& at) {
                if (!rotates_values(at)) throw NotEnough{"rotated values"};
                return product_of(gradient_of_weights(at("grad.context"), at("v")), at("keep"));
            }};
}

std::vector<Variant> ways() {
    std::vector<Variant> all;
    for (const auto& [turn, words] : {std::pair{Turn::forward, " by R_m once more instead of R_-m"},
                                      {Turn::none, " not turned back"},
                                      {Turn::back_twice, " turned back twice"},
                                      {Turn::back_by_halves, " turned back with partners in halves"}}) {
        const std::string how = words;
        all.push_back({"queries and keys" + how, {turned("grad.q", turn), turned("grad.k", turn)}});
        all.push_back({"queries alone" + how, {turned("grad.q", turn)}, {"grad.q"}});
        all.push_back({"keys alone" + how, {turned("grad.k", turn)}, {"grad.k"}});
        all.push_back({"values" + how, {turned("grad.v", turn)}, {"grad.v"}});
    }
    all.push_back({"values turned back that were never rotated", {values_turned_back()}, {"grad.v"}});
    all.push_back({"grad.q from keys that are not rotated", {of_unrotated(true)}, {"grad.q"}});
    all.push_back({"grad.k from queries that are not rotated", {of_unrotated(false)}, {"grad.k"}});
    all.push_back({"grad.probs from values that are not rotated", {probs_by_unrotated_values()}, {"grad.probs"}});
    return all;
}

Mistake mistake() {
    return {.number = 130,
            .name = "the backward pass does not turn gradients back by R_-m, or takes operands that are not rotated",
            .symptom = "the loss falls, and slower the longer the text is; position 0 is right",
            .betrays = "grad.q is right at position 0; elsewhere its pairs have the right length and another angle",
            .evidence = "",
            .lesson = "29",
            .families = {Family::roformer},
            .stems = {"grad.q", "grad.k"},
            .variants = ways()};
}

}  // namespace rotation_of_the_backward_pass

namespace part_of_a_gradient {  // mistake 131

using Part = Tensor<double> (*)(const Replay&);

Mistake mistake() {
    const auto way = [](const char* how, const char* stem, std::vector<std::string> inputs, Part part) {
        return Variant{how, {{stem, std::move(inputs), part}}, {stem}};
    };
    const auto twice = [](const char* how, const char* stem, const char* pairs, std::vector<std::string> inputs,
                          Part part) {
        inputs.emplace_back(pairs);
        return Variant{how,
                       {{stem, std::move(inputs), [=](const Replay& at) { return sum_of(at.right(stem), part(at)); }}},
                       {stem}};
    };
    const auto of_both = [](const Replay& at) {
        const Tensor<double> of_u = times_by_head(at("grad.ac"), at("k"));
        const Tensor<double> of_v = weighted_rows(at("grad.bd_raw"), at("r_k"));
        return sum_of(summed_over_rows(of_u, 0, of_u.extent(0)), summed_over_rows(of_v, 0, of_v.extent(0)));
    };
    return {
        .number = 131,
        .name = "a gradient lacks the part of one term or has it twice, or lacks a bias in what it is multiplied with",
        .symptom = "finite differences fail for queries or keys alone",
        .betrays = "what is missing is dS times the relative table, dS times the keys, or dS times u or v",
        .evidence = "",
        .lesson = "29",
        .families = {Family::deberta, Family::transformer_xl},
        .stems = {"grad.q", "grad.k"},
        .variants = {
            way("grad.q without c2p", "grad.q", {"grad.c2c", "k"},
                [](const Replay& at) { return times_by_head(at("grad.c2c"), at("k")); }),
            way("grad.q without c2c", "grad.q", {"scatter.c2p", "k_r"},
                [](const Replay& at) { return weighted_rows(at("scatter.c2p"), at("k_r")); }),
            way("grad.k without p2c", "grad.k", {"grad.c2c", "q"},
                [](const Replay& at) { return transposed_times_by_head(at("grad.c2c"), at("q")); }),
            way("grad.k without c2c", "grad.k", {"scatter.p2c", "q_r"},
                [](const Replay& at) { return weighted_rows(at("scatter.p2c"), at("q_r")); }),
            way("grad.q without bd", "grad.q", {"grad.ac", "k"},
                [](const Replay& at) { return times_by_head(at("grad.ac"), at("k")); }),
            way("grad.q without ac", "grad.q", {"grad.bd_raw", "r_k"},
                [](const Replay& at) { return weighted_rows(at("grad.bd_raw"), at("r_k")); }),
            way("grad.k of q without u", "grad.k", {"grad.ac", "q"},
                [](const Replay& at) { return transposed_times_by_head(at("grad.ac"), at("q")); }),
            way("grad.k of q + v", "grad.k", {"grad.ac", "q", "bias.v"},
                [](const Replay& at) {
                    return transposed_times_by_head(at("grad.ac"), biased(at("q"), at("bias.v")));
                }),
            way("grad.r_k of q without v", "grad.r_k", {"grad.bd_raw", "q"},
                [](const Replay& at) { return summed_over_samples(at("grad.bd_raw"), at("q")); }),
            way("grad.r_k of q + u", "grad.r_k", {"grad.bd_raw", "q", "bias.u"},
                [](const Replay& at) { return summed_over_samples(at("grad.bd_raw"), biased(at("q"), at("bias.u"))); }),
            twice("c2p twice in grad.q", "grad.q", "scatter.c2p", {"k_r"},
                  [](const Replay& at) { return weighted_rows(at("scatter.c2p"), at("k_r")); }),
            twice("p2c twice in grad.k", "grad.k", "scatter.p2c", {"q_r"},
                  [](const Replay& at) { return weighted_rows(at("scatter.p2c"), at("q_r")); }),
            twice("bd twice in grad.q", "grad.q", "grad.bd_raw", {"r_k"},
                  [](const Replay& at) { return weighted_rows(at("grad.bd_raw"), at("r_k")); }),
            {"u and v each get the gradients of both",
             {{"grad.bias.u", {"grad.bd_raw", "r_k", "grad.ac", "k"}, of_both},
              {"grad.bias.v", {"grad.bd_raw", "r_k", "grad.ac", "k"}, of_both}},
             {"grad.bias.u", "grad.bias.v"}},
            {"the gradients of u and v exchanged",
             {{"grad.bias.u", {"grad.bd_raw", "r_k"}, [](const Replay& at) { return at.right("grad.bias.v"); }},
              {"grad.bias.v", {"grad.ac", "k"}, [](const Replay& at) { return at.right("grad.bias.u"); }}},
             {"grad.bias.u", "grad.bias.v"}}}};
}

}  // namespace part_of_a_gradient

namespace dropout_of_the_backward_pass {  // mistake 132

/// The random mask as a backward pass may have it: without 1 / (1 - p), or with that twice.
enum class Keep { not_at_all, unscaled, twice };
Tensor<double> keep_as(const Replay& at, Keep keep) {
    return mapped(at("keep"), [keep](double kept) {
        return keep == Keep::not_at_all ? 1.0 : keep == Keep::unscaled ? static_cast<double>(kept != 0) : kept * kept;
    });
}

Formula values(const char* stem, Keep keep) {
    return {stem, {"probs", "keep", "grad.context"}, [keep](const Replay& at) {
                const Tensor<double> weights = product_of(at("probs"), keep_as(at, keep));
                return transposed_times_by_head(weights, split_heads(at("grad.context"), weights.extent(1)));
            }};
}

Formula probs(Keep keep) {
    return {"grad.probs", {"grad.context", "v", "v_rot", "keep"}, [keep](const Replay& at) {
                return product_of(gradient_of_weights(at("grad.context"), values_of_weights(at)), keep_as(at, keep));
            }};
}

std::vector<Variant> ways() {
    std::vector<Variant> all;
    for (const auto& [keep, how] : {std::pair{Keep::not_at_all, "grad.v from probs before dropout"},
                                    {Keep::unscaled, "grad.v without 1 / (1 - p)"},
                                    {Keep::twice, "grad.v with 1 / (1 - p) twice"}})
        all.push_back({how, {values("grad.v", keep), values("grad.v_rot", keep)}, {"grad.v"}});
    all.push_back({"grad.probs without 1 / (1 - p)", {probs(Keep::unscaled)}, {"grad.probs"}});
    all.push_back({"grad.probs with 1 / (1 - p) twice", {probs(Keep::twice)}, {"grad.probs"}});
    return all;
}

Mistake mistake() {
    return {.number = 132,
            .name = "the backward pass does not multiply by what dropout multiplied probabilities with",
            .symptom = "gradients are right without dropout, and biased with it",
            .betrays = "grad.v is (probs keep)^T dcontext, and keep is 0 or 1 / (1 - p)",
            .evidence = "",
            .lesson = "29",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl},
            .stems = {"grad.v", "grad.probs"},
            .variants = ways()};
}

}  // namespace dropout_of_the_backward_pass

namespace transposes_of_the_backward_pass {  // mistake 133

/// The right formula of `stem`, where `read` stands transposed.
Tensor<double> with_transposed(const Replay& at, const char* stem, const char* read, const Tensor<double>& values) {
    if (values.extent(2) != values.extent(3)) throw NotEnough{"as many queries as keys"};
    const Tensor<double> turned = transposed(values);
    return at.with({{read, {}, [&turned](const Replay&) { return turned; }}}).right(stem);
}

/// grad.q or grad.k by dS^T for dS, and the other way round; what the relative table adds stays right.
Formula of_scores(const char* stem) {
    return {stem, {"grad.scores", "q", "k", "q_rot", "k_rot"}, [stem](const Replay& at) {
                const char* read = at.family() == Family::deberta    ? "grad.c2c"
                                   : at.family() == Family::roformer ? "grad.scores"
                                                                     : "grad.ac";
                return with_transposed(at, stem, read, at(read));
            }};
}

/// grad.v by P for P^T.
Formula of_probs() {
    return {"grad.v", {"probs", "keep", "grad.context"}, [](const Replay& at) {
                const Tensor<double> weights = product_of(at("probs"), at("keep"));
                const Replay once = at.with({{"keep", {}, [](const Replay& each) {
                                                  return mapped(each("probs"), [](double) { return 1.0; });
                                              }}});
                return with_transposed(once, "grad.v", "probs", weights);
            }};
}

Mistake mistake() {
    return {.number = 133,
            .name = "the backward pass multiplies by dS or P where its transpose belongs, or the reverse",
            .symptom = "gradients of keys, queries or values are noise, their sizes right",
            .betrays = "grad.k is dS^T q, grad.q is dS k, grad.v is P^T dcontext",
            .evidence = "",
            .lesson = "29",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl},
            .stems = {"grad.k", "grad.q", "grad.v"},
            .variants = {{"grad.k from dS q", {of_scores("grad.k")}, {"grad.k"}},
                         {"grad.q from dS^T k", {of_scores("grad.q")}, {"grad.q"}},
                         {"grad.v from P dcontext", {of_probs()}, {"grad.v"}}}};
}

}  // namespace transposes_of_the_backward_pass

namespace shift_of_the_backward_pass {  // mistake 134

/// The gradient of bd_raw [B,H,T,R]: the cell that pair (i, j) goes back to lies in column column(i, j).
template <class Column>
Formula shifted_to(Column column) {
    return {"grad.bd_raw", {"grad.bd", "r_k"}, [column](const Replay& at) {
                const Tensor<double>& pairs = at("grad.bd");
                const Index queries = pairs.extent(2), columns = at("r_k").extent(1);
                return each_head(pairs, queries, columns, [&](Index n, Index, Index) {
                    Matrix<double> raw = Matrix<double>::Zero(queries, columns);
                    for (Index i = 0; i < queries; ++i)
                        for (Index j = 0; j < pairs.extent(3); ++j)
                            if (const Index to = column(i, j, queries); to >= 0 && to < columns)
                                raw(i, to) = pairs.matrix(n)(i, j);
                    return raw;
                });
            }};
}

Mistake mistake() {
    const auto off_by = [](Index off) {
        return shifted_to([off](Index i, Index j, Index queries) { return j + queries - 1 - i + off; });
    };
    return {.number = 134,
            .name = "the backward pass does not shift the gradient of bd back, or to other columns",
            .symptom = "the gradient of the relative positions is that of other distances",
            .betrays = "grad.r_k is right after its rows are moved, or is the sum over queries of other rows",
            .evidence = "",
            .lesson = "29",
            .families = {Family::transformer_xl},
            .stems = {"grad.q", "grad.r_k", "grad.bias.v"},
            .variants = {{"not shifted back", {shifted_to([](Index, Index j, Index) { return j; })}},
                         {"shifted forward once more",
                          {shifted_to([](Index i, Index j, Index queries) { return j - queries + 1 + i; })}},
                         {"one column too far", {off_by(1)}},
                         {"one column too near", {off_by(-1)}}}};
}

}  // namespace shift_of_the_backward_pass

namespace ends_of_the_relative_table {  // mistake 135

enum class Lost { first, last, both };

/// What pairs add to rows of the table, without the rows in which offsets beyond the span meet.
Formula pairs_without(bool by_query, Lost lost) {
    const std::string stem = by_query ? "scatter.c2p" : "scatter.p2c", pairs = by_query ? "grad.c2p" : "grad.p2c";
    return {stem, {pairs, "/relative.index", by_query ? "k_r" : "q_r"}, [=](const Replay& at) {
                Tensor<double> all = at.right(stem);
                for (Index n = 0; n < all.extent(0) * all.extent(1); ++n) {
                    if (lost != Lost::last) all.matrix(n).col(0).setZero();
                    if (lost != Lost::first) all.matrix(n).col(all.extent(3) - 1).setZero();
                }
                return all;
            }};
}

/// The same for the table alone: what it adds to grad.q or grad.k is right.
Formula table_without(bool by_query, Lost lost) {
    const std::string scatter = by_query ? "scatter.c2p" : "scatter.p2c", content = by_query ? "q" : "k";
    return {by_query ? "grad.k_r" : "grad.q_r", {scatter, content}, [=](const Replay& at) {
                return summed_over_samples(at.with({pairs_without(by_query, lost)})(scatter), at(content));
            }};
}

std::vector<Variant> ways() {
    std::vector<Variant> all;
    for (const auto& [lost, rows] :
         {std::pair{Lost::both, "rows 0 and 2k - 1"}, {Lost::first, "row 0"}, {Lost::last, "row 2k - 1"}})
        for (const bool by_query : {true, false}) {
            const std::string table = by_query ? "grad.k_r" : "grad.q_r", content = by_query ? "grad.q" : "grad.k";
            all.push_back({std::string(rows) + " in " + table + " and " + content, {pairs_without(by_query, lost)}});
            all.push_back({std::string(rows) + " in " + table, {table_without(by_query, lost)}, {table}});
        }
    return all;
}

Mistake mistake() {
    return {.number = 135,
            .name = "the backward pass loses the pairs whose offset was clamped to an end of the relative table",
            .symptom = "far tokens teach the table nothing; short texts are right",
            .betrays = "row 0 or row 2k - 1 of grad.k_r and grad.q_r is 0, all others are right",
            .evidence = "",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"grad.k_r", "grad.q_r", "grad.k", "grad.q"},
            .variants = ways()};
}

}  // namespace ends_of_the_relative_table

std::vector<Mistake> attention_gradient_mistakes() {
    return {
        scale_of_the_backward_pass::mistake(),       // 129
        rotation_of_the_backward_pass::mistake(),    // 130
        part_of_a_gradient::mistake(),               // 131
        dropout_of_the_backward_pass::mistake(),     // 132
        transposes_of_the_backward_pass::mistake(),  // 133
        shift_of_the_backward_pass::mistake(),       // 134
        ends_of_the_relative_table::mistake(),       // 135
    };
}

}  // namespace locus::conformance

// Mistakes 22 to 30.  Projections of content and positions, the order of heads, and the scale of the scores.
#include <array>
#include <functional>

#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/fitted_weights.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace packed_as_blocks {  // mistake 22

/// q (part 0), k or v by rows of in_proj [3D,D] that begin at first_row(h, d, D) for head h.  The right ones stand head
/// by head: d rows of q, of k, of v.
using FirstRow = std::function<Index(Index h, Index d, Index width)>;
Tensor<double> projected_by(const Replay& at, int part, const FirstRow& first_row) {
    require_version_1(at);
    const auto& weights = at.deberta();
    const Index width = weights.config().hidden_size, heads = weights.config().num_attention_heads, d = width / heads;
    const Matrix<double>& packed =
        weights.matrix(layer_prefix(at.layer()) + "attention.self.in_proj.weight", {3 * width, width});
    Matrix<double> rows(width, width);
    for (Index h = 0; h < heads; ++h) rows.middleRows(h * d, d) = packed.middleRows(first_row(h, d, width), d);
    return project_heads<double>(at(part == 0 ? "x_q" : "x"), {rows, weights.projection(at.layer(), part).bias}, heads);
}

Formula projection_by(int part, const FirstRow& first_row) {
    static const std::array<const char*, 3> stems = {"q", "k", "v"};
    return {stems[static_cast<std::size_t>(part)], {part == 0 ? "x_q" : "x"}, [=](const Replay& at) {
                return projected_by(at, part, first_row);
            }};
}

/// Rows [part D, (part + 1) D).
Variant as_blocks() {
    Variant way{"as three blocks", {}};
    for (int part = 0; part < 3; ++part)
        way.formulas.push_back(
            projection_by(part, [part](Index h, Index d, Index width) { return part * width + h * d; }));
    return way;
}

/// The parts of a head in another order: part stands at `slots[part]`.
Variant in_another_order(const char* how, const std::array<Index, 3>& slots) {
    Variant way{how, {}};
    for (int part = 0; part < 3; ++part) {
        const Index slot = slots[static_cast<std::size_t>(part)];
        if (slot == part) continue;  // that one is right
        way.formulas.push_back(projection_by(part, [slot](Index h, Index d, Index) { return (3 * h + slot) * d; }));
        way.stems.push_back(way.formulas.back().stem);
    }
    return way;
}

/// Transformer-XL's qkv_net [3 H d, D] holds three blocks; read head by head, as version 1 has it.
Formula block_by_heads(int part) {
    static const std::array<const char*, 3> stems = {"q", "k", "v"};
    return {stems[static_cast<std::size_t>(part)], {part == 0 ? "x_q" : "x"}, [part](const Replay& at) {
                if (at.family() != Family::transformer_xl) throw NotEnough{"a qkv_net"};
                const TransformerXlConfig& config = at.transformer_xl();
                const Index heads = config.n_head, d = config.d_head;
                const Matrix<double> packed =
                    at.model().weights.matrix("layers." + std::to_string(at.layer()) + ".dec_attn.qkv_net.weight",
                                              {3 * heads * d, config.d_model});
                Matrix<double> rows(heads * d, config.d_model);
                for (Index h = 0; h < heads; ++h) rows.middleRows(h * d, d) = packed.middleRows((3 * h + part) * d, d);
                return project_heads<double>(projection_input(at, part), {rows, {}}, heads);
            }};
}

Mistake mistake() {
    return {
        .number = 22,
        .name = "a packed projection is read as blocks [Q; K; V] where it stands head by head, or the reverse",
        .symptom = "everything is wrong from layer 0 on, with plausible norms",
        .betrays = "q is right in head 0 alone, its other heads are rows of k and v; or q is k, or v, of every head",
        .evidence = "",
        .lesson = "12",
        .families = {Family::deberta, Family::transformer_xl},
        .stems = {"q", "k", "v"},
        .variants = {as_blocks(),
                     in_another_order("head by head as [K; Q; V]", {1, 0, 2}),
                     in_another_order("head by head as [Q; V; K]", {0, 2, 1}),
                     in_another_order("head by head as [V; K; Q]", {2, 1, 0}),
                     in_another_order("head by head as [K; V; Q]", {2, 0, 1}),
                     in_another_order("head by head as [V; Q; K]", {1, 2, 0}),
                     {"Transformer-XL: the blocks are read head by head",
                      {block_by_heads(0), block_by_heads(1), block_by_heads(2)}}}};
}

}  // namespace packed_as_blocks

namespace biases_of_version_1 {  // mistake 23

/// Heads [..,H,R,d] with one row [H,d] added to all rows of a head.
Tensor<double> with_bias(Tensor<double> heads, const Matrix<double>& bias) {
    const Index count = heads.size() / (heads.extent(heads.rank() - 2) * heads.extent(heads.rank() - 1));
    for (Index at = 0; at < count; ++at) heads.matrix(at).rowwise() += bias.row(at % bias.rows());
    return heads;
}

/// The bias of q (part 0) or v (part 2).
Matrix<double> bias_of(const Replay& at, int part) {
    require_version_1(at);
    return by_head(at.deberta().projection(at.layer(), part).bias, at.deberta().config().num_attention_heads);
}

template <class Bias>
Variant keys_plus(const char* how, Bias bias) {
    return {how, {{"k", {"x"}, [bias](const Replay& at) {
                       require_version_1(at);
                       return with_bias(at.right("k"), bias(at));
                   }}}};
}

/// (x W) s + b instead of (x W + b) s, as queries that are right otherwise see it: b is 1 / s too large.
Matrix<double> late_bias(const Replay& at) {
    Matrix<double> bias = bias_of(at, 0);
    const double count = terms_of(at).count() * static_cast<double>(bias.cols());
    bias *= std::sqrt(count) - 1;
    return bias;
}

std::vector<Variant> biases_of_version_1() {
    return {
        keys_plus("keys get the bias of queries", [](const Replay& at) { return bias_of(at, 0); }),
        keys_plus("keys get the bias of values", [](const Replay& at) { return bias_of(at, 2); }),
        keys_plus("keys have a bias that no file holds", fitted_key_bias),
        {"position keys have a bias that no file holds",
         {{"k_r",
           {"/relative.table"},
           [](const Replay& at) {
               require_version_1(at);
               return with_bias(at.right("k_r"), fitted_position_key_bias(at));
           }}}},
        {"q_bias is added after the scale",
         {{"q", {"x_q"}, [](const Replay& at) { return with_bias(at.right("q"), late_bias(at)); }}}},
        {"q_bias is added after the scale, q is reported without it",
         {{"c2c", {"q", "k"}, [](const Replay& at) { return products(with_bias(at("q"), late_bias(at)), at("k")); }},
          {"c2p",
           {"q", "k_r", "/relative.index"},
           [](const Replay& at) {
               return content_to_position_by(with_bias(at("q"), late_bias(at)), at("k_r"), index_here(at));
           }}}},
    };
}

Mistake mistake() {
    return {.number = 23,
            .name = "version 1: keys get a bias, or the bias of queries is added after the scale",
            .symptom = "scores are off by q . b, constant along a row, and by a part of p2c",
            .betrays = "scores less their right values and their row means leave p2c alone",
            .evidence = "microsoft/DeBERTa load hook leaves key_proj.bias as it was",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"q", "k", "k_r", "c2c", "c2p"},
            .variants = biases_of_version_1()};
}

}  // namespace biases_of_version_1

namespace positions_without_bias {  // mistake 24

/// A right projection of the table less its bias.
Tensor<double> without_bias(const Replay& at, const char* stem, const Dense<double>& projection) {
    if (projection.bias.size() == 0) throw NotEnough{"a bias of the position projection"};
    Tensor<double> heads = at.right(stem);
    const Matrix<double> bias = by_head(projection.bias, heads.extent(0));
    for (Index h = 0; h < heads.extent(0); ++h) heads.matrix(h).rowwise() -= bias.row(h);
    return heads;
}

Formula bare_keys() {
    return {"k_r", {"/relative.table"}, [](const Replay& at) {
                return without_bias(at, "k_r", at.deberta().position_key(at.layer()));
            }};
}

Formula bare_queries() {
    return {"q_r", {"/relative.table"}, [](const Replay& at) {
                return without_bias(at, "q_r", at.deberta().position_query(at.layer()));
            }};
}

Formula never_loaded(const char* stem) {
    return {stem, {"/relative.table"}, [stem](const Replay& at) { return fitted_projection(at, stem); }};
}

Mistake mistake() {
    return {.number = 24,
            .name =
                "the relative table is projected without the biases of the projections it shares, or by a projection "
                "that no file holds",
            .symptom = "c2p and p2c look random",
            .betrays = "k_r differs from the right one by b_k in every row",
            .evidence = "microsoft/DeBERTa #136",
            .lesson = "08",
            .families = {Family::deberta},
            .stems = {"q_r", "k_r"},
            .variants = {{"neither has its bias", {bare_queries(), bare_keys()}},
                         {"position queries alone", {bare_queries()}},
                         {"position keys alone", {bare_keys()}},
                         {"position queries by a projection that no file holds", {never_loaded("q_r")}},
                         {"position keys by a projection that no file holds", {never_loaded("k_r")}}}};
}

}  // namespace positions_without_bias

namespace heads_merged_in_another_order {  // mistake 25

/// [B,H,T,d] from the joined context.
Tensor<double> context_heads(const Replay& at) { return split_heads(at.right("context"), at("v").extent(1)); }

/// Channel c H + h instead of h d + c.
Tensor<double> channels_first(const Replay& at) {
    const Tensor<double> heads = context_heads(at);
    const Index count = heads.extent(1), width = heads.extent(3);
    Tensor<double> joined({heads.extent(0), heads.extent(2), count * width});
    for (Index b = 0; b < heads.extent(0); ++b)
        for (Index h = 0; h < count; ++h)
            for (Index c = 0; c < width; ++c) joined.matrix(b).col(c * count + h) = heads.matrix(b * count + h).col(c);
    return joined;
}

/// Memory of [H,T,d] read as [T,H d].
Tensor<double> not_transposed(const Replay& at) {
    const Tensor<double> heads = context_heads(at);
    return {{heads.extent(0), heads.extent(2), heads.extent(1) * heads.extent(3)}, heads.values()};
}

Mistake mistake() {
    return {.number = 25,
            .name = "heads are merged as [T,d,H] instead of [T,H,d]",
            .symptom = "the channels of the context are permuted",
            .betrays = "context is right after the channels are permuted from (d,H) to (H,d)",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"context"},
            .variants = {{"channels before heads", {{"context", {"probs", "v"}, channels_first}}},
                         {"heads before tokens, never transposed", {{"context", {"probs", "v"}, not_transposed}}}}};
}

}  // namespace heads_merged_in_another_order

namespace scale_without_terms {  // mistake 26

const std::vector<std::string> kTerms = {"c2c", "c2p", "p2c", "q_rot", "k_rot", "ac", "bd", "ef"};

/// Right scores times what the right scale is larger than the one taken.
std::vector<Formula> scaled_by(double (*factor)(double terms, double width)) {
    return {{"scores", kTerms, [factor](const Replay& at) {
                 const bool several = at.family() == Family::deberta;
                 const double times =
                     factor(several ? terms_of(at).count() : 1, static_cast<double>(at("q").extent(3)));
                 return mapped(at.right("scores"), [times](double score) { return score * times; });
             }}};
}

double without_count(double terms, double) {
    if (terms == 1) throw NotEnough{"several terms"};
    return std::sqrt(terms);
}

double without_scale(double terms, double width) { return std::sqrt(terms * width); }
double without_root(double terms, double width) { return 1 / std::sqrt(terms * width); }

double root_cut_to_integer(double terms, double width) {
    const double root = std::sqrt(terms * width);
    if (root == std::floor(root)) throw NotEnough{"a root that is no integer"};
    return root / std::floor(root);
}

Mistake mistake() {
    return {.number = 26,
            .name =
                "scores of n terms (1 outside DeBERTa) are divided by sqrt(d), n d, an integer or nothing, not by "
                "sqrt(n d)",
            .symptom = "attention is too sharp, or too flat",
            .betrays = "scores are sqrt(n), sqrt(n d) or 1/sqrt(n d) times the right ones, everywhere",
            .evidence = "",
            .lesson = "10",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"scores"},
            .variants = {{"by sqrt(d)", scaled_by(without_count)},
                         {"not at all", scaled_by(without_scale)},
                         {"by n d, without the root", scaled_by(without_root)},
                         {"by sqrt(n d) cut to an integer", scaled_by(root_cut_to_integer)}}};
}

}  // namespace scale_without_terms

namespace scale_of_the_model_width {  // mistake 27

/// scores divided by sqrt(terms D) instead of sqrt(n d).
std::vector<Formula> divided_by_width(bool with_terms) {
    return {{"scores", scale_without_terms::kTerms, [with_terms](const Replay& at) {
                 const Tensor<double>& q = at("q");
                 const Family family = at.family();
                 if (family != Family::deberta) {  // one term: of sqrt(D) and sqrt(n D) the first
                     if (with_terms) throw NotEnough{"several terms"};
                     Index width = q.extent(1) * q.extent(3);  // H d, which need not be D in these two
                     if (family == Family::transformer_xl) width = at.transformer_xl().d_model;
                     if (family == Family::xlnet) width = at.xlnet().d_model;
                     const double factor = std::sqrt(static_cast<double>(q.extent(3)) / static_cast<double>(width));
                     return mapped(at.right("scores"), [factor](double score) { return score * factor; });
                 }
                 const double width = static_cast<double>(q.extent(1) * q.extent(3));
                 const double terms = with_terms ? terms_of(at).count() : 1;
                 const double factor = 1 / std::sqrt(terms * width) / right_scale(at);
                 return mapped(at.right("scores"), [&](double score) { return score * factor; });
             }}};
}

Mistake mistake() {
    return {.number = 27,
            .name = "the scale takes the width of the model, D, for the width of a head, d",
            .symptom = "attention is too flat",
            .betrays = "scores are sqrt(n/H), or 1/sqrt(H), of what they should be; sqrt(D) is right where n = H",
            .evidence = "",
            .lesson = "10",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"scores"},
            .variants = {{"sqrt(D)", divided_by_width(false)}, {"sqrt(n D)", divided_by_width(true)}}};
}

}  // namespace scale_of_the_model_width

namespace a_term_not_scaled {  // mistake 28

/// Terms that are left raw.
std::vector<Formula> raw(bool c2p, bool p2c) {
    return {{"scores", {"c2c", "c2p", "p2c"}, [=](const Replay& at) {
                 const Terms terms = terms_of(at);
                 if ((c2p && !terms.c2p) || (p2c && !terms.p2c)) throw NotEnough{"a term that is left raw"};
                 const double scale = right_scale(at);
                 return weighted_terms(at, {scale, c2p ? 1 : scale, p2c ? 1 : scale});
             }}};
}

/// Positions are scaled, the content term is not.
std::vector<Formula> raw_c2c() {
    return {{"scores", {"c2c", "c2p", "p2c"}, [](const Replay& at) {
                 if (terms_of(at).count() < 2) throw NotEnough{"a position term"};
                 return weighted_terms(at, {1, right_scale(at), right_scale(at)});
             }}};
}

/// c2c, or the position terms, by 1 / sqrt(d), as if they were the only ones.
std::vector<Formula> scaled_alone(bool content) {
    return {
        {"scores", {"c2c", "c2p", "p2c"}, [content](const Replay& at) {
             if (terms_of(at).count() < 2) throw NotEnough{"a position term"};
             const double scale = right_scale(at), alone = 1 / std::sqrt(static_cast<double>(at("q").extent(3)));
             return weighted_terms(at, content ? TermFactors{alone, scale, scale} : TermFactors{scale, alone, alone});
         }}};
}

/// Transformer-XL and XLNet: the content terms are scaled before bd joins them, or bd before it joins them.
std::vector<Formula> one_raw(bool content) {
    return {{"scores", {"ac", "bd", "ef"}, [content](const Replay& at) {
                 const double scale = 1 / std::sqrt(static_cast<double>(at("q").extent(3)));
                 return weighted_relative_terms(at, content ? 1 : scale, content ? scale : 1);
             }}};
}

Mistake mistake() {
    return {.number = 28,
            .name = "a term is added without the scale, or with that of a single term",
            .symptom = "position outweighs content, or content position",
            .betrays = "in scores = a c2c + b c2p + c p2c, or a (ac + ef) + b bd, a coefficient is 1, or 1 / sqrt(d)",
            .evidence = "",
            .lesson = "10",
            .families = {Family::deberta, Family::transformer_xl, Family::xlnet},
            .stems = {"scores"},
            .variants = {{"c2c alone is scaled", raw(true, true)},
                         {"p2c is not scaled", raw(false, true)},
                         {"c2p is not scaled", raw(true, false)},
                         {"bd is not scaled", one_raw(false)},
                         {"c2c is not scaled", raw_c2c()},
                         {"c2c is divided by sqrt(d)", scaled_alone(true)},
                         {"position terms are divided by sqrt(d)", scaled_alone(false)},
                         {"ac is not scaled", one_raw(true)}}};
}

}  // namespace a_term_not_scaled

namespace a_term_scaled_twice {  // mistake 29

std::vector<Formula> twice(bool c2p, bool p2c) {
    return {{"scores", {"c2c", "c2p", "p2c"}, [=](const Replay& at) {
                 const Terms terms = terms_of(at);
                 if ((c2p && !terms.c2p) || (p2c && !terms.p2c)) throw NotEnough{"a term that is scaled twice"};
                 const double scale = right_scale(at), square = scale * scale;
                 return weighted_terms(at, {scale, c2p ? square : scale, p2c ? square : scale});
             }}};
}

/// Queries are scaled, and so is the sum: what is made of q has both.
std::vector<Formula> terms_of_queries() {
    return {{"scores", {"c2c", "c2p", "p2c"}, [](const Replay& at) {
                 if (!terms_of(at).p2c) throw NotEnough{"a term without queries"};
                 const double scale = right_scale(at), square = scale * scale;
                 return weighted_terms(at, {square, square, scale});
             }}};
}

Mistake mistake() {
    return {.number = 29,
            .name = "a term is scaled twice: by its query, and once more",
            .symptom = "the term all but vanishes",
            .betrays = "in scores = a c2c + b c2p + c p2c a coefficient is 1 / (n d) instead of 1 / sqrt(n d)",
            .evidence = "",
            .lesson = "10",
            .families = {Family::deberta},
            .stems = {"scores"},
            .variants = {{"c2p is scaled twice", twice(true, false)},
                         {"p2c is scaled twice", twice(false, true)},
                         {"both position terms are scaled twice", twice(true, true)},
                         {"c2c and c2p, what is made of queries, are scaled twice", terms_of_queries()}}};
}

}  // namespace a_term_scaled_twice

namespace terms_counted_wrong {  // mistake 30

/// scores divided by sqrt(counted d).  A count of 1 is mistake 26.
Variant counting(int counted) {
    return {"n is counted as " + std::to_string(counted),
            {{"scores", {"c2c", "c2p", "p2c"}, [counted](const Replay& at) {
                  const int terms = terms_of(at).count();
                  if (terms == counted) throw NotEnough{"another number of terms"};
                  const double factor = std::sqrt(static_cast<double>(terms) / counted);
                  return mapped(at.right("scores"), [&](double score) { return score * factor; });
              }}}};
}

Mistake mistake() {
    return {.number = 30,
            .name = "n in sqrt(n d) counts other terms than those that are added",
            .symptom = "attention is a little too flat or too sharp",
            .betrays = "scores are sqrt(n / counted) of what they should be, everywhere",
            .evidence = "deberta.cpp hard-codes 3",
            .lesson = "10",
            .families = {Family::deberta},
            .stems = {"scores"},
            .variants = {counting(2), counting(3), counting(4)}};
}

}  // namespace terms_counted_wrong

std::vector<Mistake> projection_and_scale_mistakes() {
    return {
        packed_as_blocks::mistake(),               // 22
        biases_of_version_1::mistake(),            // 23
        positions_without_bias::mistake(),         // 24
        heads_merged_in_another_order::mistake(),  // 25
        scale_without_terms::mistake(),            // 26
        scale_of_the_model_width::mistake(),       // 27
        a_term_not_scaled::mistake(),              // 28
        a_term_scaled_twice::mistake(),            // 29
        terms_counted_wrong::mistake(),            // 30
    };
}

}  // namespace locus::conformance

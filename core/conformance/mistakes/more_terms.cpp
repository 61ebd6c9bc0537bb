// Mistakes 84 to 87.  The terms of DeBERTa once more: no log buckets, heads of the table in another order, a term that
// is not added, positions that are all the same.
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace log_buckets_missing {  // mistake 84

Mistake mistake() {
    return {.number = 84,
            .name = "the log buckets are missing: the index is clip(i - j + b)",
            .symptom = "short texts are right to the last bit, long ones are not",
            .betrays = "relative.index is right for |i-j| <= b/2 + 1 and i - j + b, clamped to the table, beyond",
            .evidence = "deberta.cpp b83bebe",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"", {log_index_by([](const RelativeRule& rule, Index offset) {
                              return rule.inside(offset + rule.span);
                          })}}}};
}

}  // namespace log_buckets_missing

namespace heads_repeated {  // mistake 85

/// Products of all rows with the table of head n // B, where n counts heads through all samples.
Tensor<double> products_with_repeated(const Tensor<double>& rows, const Tensor<double>& table) {
    const Index batch = rows.extent(0);
    if (batch < 2) throw NotEnough{"a second sample"};
    return each_head(rows, rows.extent(2), table.extent(1), [&](Index at, Index, Index) {
        return products_of_rows<double>(rows.matrix(at), table.matrix(at / batch));
    });
}

Formula c2p() {
    return {"c2p", {"q", "k_r", "/relative.index"}, [](const Replay& at) {
                return gathered_by_query(products_with_repeated(at("q"), at("k_r")), index_here(at));
            }};
}

Formula p2c() {
    return {"p2c", {"k", "q_r", "/relative.index"}, [](const Replay& at) {
                return gathered_by_key(products_with_repeated(at("k"), at("q_r")), index_here(at));
            }};
}

Mistake mistake() {
    return {.number = 85,
            .name = "the heads of the relative table are repeated one by one instead of tiled for a batch",
            .symptom = "one sample alone is right, the same sample in a batch is not",
            .betrays = "c2p of sample b and head h is that of the table's head (b H + h) // B",
            .evidence = "gliner2-mlx PR 2",
            .lesson = "08",
            .families = {Family::deberta},
            .stems = {"c2p", "p2c"},
            .variants = {{"both terms", {c2p(), p2c()}}, {"c2p alone", {c2p()}}, {"p2c alone", {p2c()}}}};
}

}  // namespace heads_repeated

namespace a_term_not_added {  // mistake 86

std::vector<Formula> without(bool c2p, bool p2c) {
    return {{"scores", {"c2c", "c2p", "p2c"}, [=](const Replay& at) {
                 const Terms terms = terms_of(at);
                 if ((c2p && !terms.c2p) || (p2c && !terms.p2c)) throw NotEnough{"a term that is left out"};
                 // A wrong term may come out as 0: whether it was left out is seen only where the port reports it, or
                 // where whole passes are compared, among them those whose terms come out so.
                 if (!at.in_whole_pass() && ((c2p && !at.claimed("c2p")) || (p2c && !at.claimed("p2c"))))
                     throw NotEnough{"the port's own c2p and p2c"};
                 const double scale = right_scale(at);
                 return weighted_terms(at, {scale, c2p ? 0 : scale, p2c ? 0 : scale});
             }}};
}

/// Transformer-XL and XLNet: the scores are those of words, and of segments, alone.
std::vector<Formula> without_bd() {
    return {{"scores", {"ac", "bd", "ef"}, [](const Replay& at) {
                 if (!at.in_whole_pass() && !at.claimed("bd")) throw NotEnough{"the port's own bd"};
                 return weighted_relative_terms(at, 1 / std::sqrt(static_cast<double>(at("q").extent(3))), 0);
             }}};
}

Mistake mistake() {
    return {.number = 86,
            .name = "a position term is computed and never added to the scores",
            .symptom = "the model knows less about order, or nothing",
            .betrays = "in scores = a c2c + b c2p + c p2c, or a (ac + ef) + b bd, a coefficient is 0",
            .evidence = "the first commit of deberta.cpp: \"c2c only\"",
            .lesson = "10",
            .families = {Family::deberta, Family::transformer_xl, Family::xlnet},
            .stems = {"scores"},
            .variants = {{"p2c is left out", without(false, true)},
                         {"c2p is left out", without(true, false)},
                         {"both position terms are left out", without(true, true)},
                         {"bd is left out", without_bd()}}};
}

}  // namespace a_term_not_added

namespace positions_all_the_same {  // mistake 87

Mistake mistake() {
    return {.number = 87,
            .name = "every pair reads the row of offset 0: the positions that offsets are made of are all the same",
            .symptom = "the model is a bag of words",
            .betrays = "relative.index is k everywhere; c2p and p2c are right on the diagonal",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"", {index_by([](const RelativeRule& rule, Index) { return rule.row(0); })}}}};
}

}  // namespace positions_all_the_same

std::vector<Mistake> more_term_mistakes() {
    return {
        log_buckets_missing::mistake(),     // 84
        heads_repeated::mistake(),          // 85
        a_term_not_added::mistake(),        // 86
        positions_all_the_same::mistake(),  // 87
    };
}

}  // namespace locus::conformance

// Mistakes 84 to 87 and 126.  The terms once more: no log buckets, heads of the table in another order, a term that is
// not added or counts otherwise, positions that are all the same.
#include <algorithm>
#include <cmath>

#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace log_buckets_missing {  // mistake 84

Tensor<double> clipped_index(const Replay& at) {
    const RelativeRule rule = log_rule(at);
    return rule.matrix([&](Index offset) { return rule.inside(offset + rule.span); });
}

Mistake mistake() {
    return {
        .number = 84,
        .name = "the log buckets are missing: the index is clip(i - j + b)",
        .symptom = "short texts are right to the last bit, long ones are not",
        .betrays = "relative.index is right for |i-j| <= b/2 + 1 and i - j + b, clamped to the table, beyond",
        .evidence = "deberta.cpp b83bebe",
        .lesson = "06",
        .families = {Family::deberta},
        .stems = {"/relative.index", "c2p", "p2c"},
        .variants = {{"clamped to the table", {{"/relative.index", {}, clipped_index}}},
                     {"in c2p alone", {c2p_by(clipped_index)}},
                     {"in p2c alone", {p2c_by(clipped_index)}},
                     {"clamped to -b ... b - 1 before p2c negates it",
                      negated_for_p2c([](const RelativeRule& rule,
                                         Index offset) { return std::clamp<Index>(offset, -rule.span, rule.span - 1); },
                                      log_rule)}}};
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
                 if (!at.in_whole_pass() && ((c2p && !at.is_known("c2p")) || (p2c && !at.is_known("p2c"))))
                     throw NotEnough{"the port's own c2p and p2c"};
                 const double scale = right_scale(at);
                 return weighted_terms(at, {scale, c2p ? 0 : scale, p2c ? 0 : scale});
             }}};
}

/// Transformer-XL and XLNet: the scores are those of words, and of segments, alone.
std::vector<Formula> without_bd() {
    return {{"scores", {"ac", "bd", "ef"}, [](const Replay& at) {
                 if (!at.in_whole_pass() && !at.is_known("bd")) throw NotEnough{"the port's own bd"};
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

namespace terms_counted_otherwise {  // mistake 126

/// What c2c, c2p and p2c count in the sum, times the scale; right is once each.
std::vector<Formula> counting(TermFactors times) {
    return {{"scores", {"c2c", "c2p", "p2c"}, [times](const Replay& at) {
                 const Terms terms = terms_of(at);
                 if ((times.c2p != 1 && !terms.c2p) || (times.p2c != 1 && !terms.p2c))
                     throw NotEnough{"a term that counts otherwise"};
                 const double scale = right_scale(at);
                 return weighted_terms(at, {times.c2c * scale, times.c2p * scale, times.p2c * scale});
             }}};
}

std::vector<Formula> counting_bd(double times) {
    return {{"scores", {"ac", "bd", "ef"}, [times](const Replay& at) {
                 const double scale = 1 / std::sqrt(static_cast<double>(at("q").extent(3)));
                 return weighted_relative_terms(at, scale, times * scale);
             }}};
}

Mistake mistake() {
    return {
        .number = 126,
        .name = "a position term is subtracted, or added twice, maybe in the place of the other one",
        .symptom = "attention prefers what it should avoid, or weighs position twice",
        .betrays = "in scores = a c2c + b c2p + c p2c, or a (ac + ef) + b bd, a coefficient is -1 or 2 times the scale",
        .evidence = "",
        .lesson = "10",
        .families = {Family::deberta, Family::transformer_xl, Family::xlnet},
        .stems = {"scores"},
        .variants = {{"p2c is subtracted", counting({1, 1, -1})},
                     {"c2p is subtracted", counting({1, -1, 1})},
                     {"both position terms are subtracted", counting({1, -1, -1})},
                     {"c2p is added twice", counting({1, 2, 1})},
                     {"p2c is added twice", counting({1, 1, 2})},
                     {"c2p is added twice, the second time for p2c", counting({1, 2, 0})},
                     {"p2c is added twice, the first time for c2p", counting({1, 0, 2})},
                     {"bd is subtracted", counting_bd(-1)},
                     {"bd is added twice", counting_bd(2)}}};
}

}  // namespace terms_counted_otherwise

std::vector<Mistake> more_term_mistakes() {
    return {
        log_buckets_missing::mistake(),     // 84
        heads_repeated::mistake(),          // 85
        a_term_not_added::mistake(),        // 86
        positions_all_the_same::mistake(),  // 87
    };
}

std::vector<Mistake> term_count_mistakes() { return {terms_counted_otherwise::mistake()}; }

}  // namespace locus::conformance

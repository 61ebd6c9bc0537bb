#include <algorithm>

#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Sample b's table [H,T,d]: rows b T ... b T + T - 1.  A table that does not fold into B pieces crashes instead.
Tensor<double> piece_of(const Tensor<double>& table, Index length, Index b, Index batch) {
    if (table.extent(1) != length * batch) throw NotEnough{"a table of B T rows"};
    Tensor<double> piece({table.extent(0), length, table.extent(2)});
    for (Index h = 0; h < table.extent(0); ++h) piece.matrix(h) = table.matrix(h).middleRows(b * length, length);
    return piece;
}

Index half_text(const RelativeRule& rule, Index offset) {
    return std::clamp<Index>(offset + rule.queries / 2, 0, rule.queries - 1);
}

Tensor<double> sample(const Tensor<double>& of, Index b) {
    Tensor<double> one({1, of.extent(1), of.extent(2), of.extent(3)});
    for (Index h = 0; h < of.extent(1); ++h) one.matrix(h) = of.matrix(b * of.extent(1) + h);
    return one;
}

Tensor<double> index_of_half_text(const Replay& at) {
    const RelativeRule rule = relative_rule(at);
    return rule.matrix([&](Index offset) { return half_text(rule, offset); });
}

/// Each sample by the piece of the table that broadcasting gives it.
template <class Term>
Tensor<double> folded(const Replay& at, const char* content, const char* table, Term term,
                      const Tensor<double>& index) {
    const Tensor<double>& rows = at(content);
    const Index batch = rows.extent(0), heads = rows.extent(1), length = rows.extent(2);
    if (batch < 2) throw NotEnough{"two samples"};
    Tensor<double> all({batch, heads, length, length});
    for (Index b = 0; b < batch; ++b) {
        const Tensor<double> one = term(sample(rows, b), piece_of(at(table), length, b, batch), index);
        for (Index h = 0; h < heads; ++h) all.matrix(b * heads + h) = one.matrix(h);
    }
    return all;
}

/// Both terms; where the index is written down, it may be the one that they read or another.
std::vector<Formula> folded_terms(Make index) {
    return {{"c2p",
             {"q", "k_r", "/relative.index"},
             [=](const Replay& at) { return folded(at, "q", "k_r", content_to_position_by, index(at)); }},
            {"p2c", {"k", "q_r", "/relative.index"}, [=](const Replay& at) {
                 return folded(at, "k", "q_r", position_to_content_by, index(at));
             }}};
}

std::vector<Formula> with_index(std::vector<Formula> terms) {
    terms.push_back(index_by(half_text));
    return terms;
}

}  // namespace

Mistake mistake_14() {
    return {.number = 14,
            .name = "the projected table is reshaped to (-1, T, H, d), so that its rows fold into the batch",
            .symptom = "samples of equal tokens differ in c2p; crashes unless 2k = B T",
            .betrays = "k_r has 2k / T in front of H and T instead of 2k rows",
            .evidence = "qcqced123/model_study",
            .lesson = "08",
            .families = {Family::deberta},
            .stems = {"c2p", "p2c", "/relative.index"},
            .variants = {{"B pieces of T rows, indexed with a span of T / 2", with_index(folded_terms(index_here))},
                         {"B pieces of T rows, indexed with a span of T / 2, while another index is written down",
                          folded_terms(index_of_half_text)}}};
}

}  // namespace locus::conformance

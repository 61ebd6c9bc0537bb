// Mistakes 1 to 6.  Which row of the relative table a term reads: c2p and p2c.
#include "core/conformance/formulas/deberta.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace p2c_of_the_paper {  // mistake 1

Mistake mistake() {
    return {.number = 1,
            .name = "p2c reads row delta(j,i), as the paper prints it",
            .symptom = "the model works but is less accurate; p2c is wrong everywhere but on its diagonal",
            .betrays = "p2c[i,j] == k_j . q_r[delta(j,i)]",
            .evidence = "nntrainer #3982; microsoft/DeBERTa #47",
            .lesson = "09",
            .families = {Family::deberta},
            .stems = {"p2c"},
            .variants = {{"", {{"p2c", {"k", "q_r", "/relative.index"}, [](const Replay& at) {
                                    return gathered_by_key(at.table_products("k", "q_r"),
                                                           transposed(at("/relative.index")));
                                }}}}}};
}

}  // namespace p2c_of_the_paper

namespace p2c_gathered_by_query {  // mistake 2

Mistake mistake() {
    return {.number = 2,
            .name = "p2c is gathered along k q_r^T with delta(i,j) and never transposed",
            .symptom = "asymmetric garbage in p2c; c2c and c2p are exact",
            .betrays = "p2c[a,b] == k_a . q_r[delta(a,b)]",
            .evidence = "",
            .lesson = "07",
            .families = {Family::deberta},
            .stems = {"p2c"},
            .variants = {{"", {{"p2c", {"k", "q_r", "/relative.index"}, [](const Replay& at) {
                                    return gathered_by_query(at.table_products("k", "q_r"), at("/relative.index"));
                                }}}}}};
}

}  // namespace p2c_gathered_by_query

namespace p2c_not_transposed {  // mistake 3

Mistake mistake() {
    return {.number = 3,
            .name = "p2c is gathered with the negated index and the last transpose is missing",
            .symptom = "p2c is mirrored; its diagonal is right",
            .betrays = "p2c equals the transpose of the right p2c",
            .evidence = "nntrainer #3982",
            .lesson = "09",
            .families = {Family::deberta},
            .stems = {"p2c"},
            .variants = {{"", {{"p2c", {"k", "q_r", "/relative.index"}, [](const Replay& at) {
                                    return transposed(at.right("p2c"));
                                }}}}}};
}

}  // namespace p2c_not_transposed

namespace c2p_key_minus_query {  // mistake 4

/// The index that c2p alone reads; where it is all that is known, the same numbers are mistake 5.
Tensor<double> index_of_c2p(const Replay& at) {
    if (!at.has_model() && !at.expected("/layer.0.c2p")) throw NotEnough{"c2p"};
    return mirrored_index(at);
}

Tensor<double> c2p_of_the_key_s_place(const Replay& at) {
    const Tensor<double>& index = at("/relative.index");
    if (index.extent(0) != index.extent(1)) throw NotEnough{"as many keys as queries"};
    return gathered_by_key(at.table_products("q", "k_r"), index);
}

Mistake mistake() {
    return {.number = 4,
            .name = "c2p counts the offset as key minus query, j - i, or reads the query of place j",
            .symptom = "left and right are swapped in c2p alone",
            .betrays = "c2p[i,j] == q_i . k_r[delta(j,i)], or q_j . k_r[delta(i,j)]; the diagonal is right",
            .evidence = "",
            .lesson = "09",
            .families = {Family::deberta},
            .stems = {"c2p", "/relative.index"},
            .variants = {
                {"p2c has an index of its own, the right one",
                 {{"/relative.index", {}, index_of_c2p},
                  p2c_by([](const Replay& at) { return at.right("/relative.index"); })}},
                {"the index is right, c2p reads its transpose", {c2p_by(mirrored_index)}},
                {"q_j stands for q_i", {{"c2p", {"q", "k_r", "/relative.index"}, c2p_of_the_key_s_place}}, {"c2p"}}}};
}

}  // namespace c2p_key_minus_query

namespace index_of_the_wrong_sign {  // mistake 5

Mistake mistake() {
    return {
        .number = 5,
        .name = "the relative index has the wrong sign, j - i for i - j, in both terms",
        .symptom = "looks consistent and can be trained, fails with released weights alone",
        .betrays = "relative.index equals the transpose of the right one, its diagonal is still k",
        .evidence = "",
        .lesson = "05",
        .families = {Family::deberta},
        .stems = {"/relative.index", "c2p", "p2c"},
        .variants = {
            {"the index itself", {{"/relative.index", {}, mirrored_index}}},
            {"the index is right, both terms read its transpose", {c2p_by(mirrored_index), p2c_by(mirrored_index)}},
            {"rows are counted from the other end of the table, 2k - 1 - row",
             {index_by([](const RelativeRule& rule, Index offset) { return rule.rows() - 1 - rule.row(offset); })}}}};
}

}  // namespace index_of_the_wrong_sign

namespace position_projections_swapped {  // mistake 6

/// Position queries by the projection of position keys, or the other way round, where they differ.
Formula by_the_other(bool queries) {
    return {queries ? "q_r" : "k_r", {"/relative.table"}, [queries](const Replay& at) {
                const auto& weights = at.deberta();
                return table_heads(at, at("/relative.table"),
                                   queries ? weights.position_key(at.layer()) : weights.position_query(at.layer()));
            }};
}

/// c2p of the keys' own vectors, k_i . k_r[delta(i,j)].
Formula c2p_of_keys() {
    return {"c2p", {"k", "k_r", "/relative.index"}, [](const Replay& at) {
                return gathered_by_query(at.table_products("k", "k_r"), at("/relative.index"));
            }};
}

/// p2c of the queries' own vectors, q_j . q_r[delta(i,j)].
Formula p2c_of_queries() {
    return {"p2c", {"q", "q_r", "/relative.index"}, [](const Replay& at) {
                return gathered_by_key(at.table_products("q", "q_r"), at("/relative.index"));
            }};
}

Mistake mistake() {
    return {.number = 6,
            .name =
                "position keys and position queries are exchanged, or both made by one projection; or a position "
                "term takes keys for queries, or queries for keys",
            .symptom = "wrong magnitude, plausible picture",
            .betrays =
                "k_r equals the right q_r, q_r the right k_r, or both; or c2p[i,j] == k_i . k_r[delta(i,j)], "
                "p2c[i,j] == q_j . q_r[delta(i,j)]",
            .evidence = "",
            .lesson = "08",
            .families = {Family::deberta},
            .stems = {"q_r", "k_r", "c2p", "p2c"},
            .variants = {{"the projections are exchanged",
                          {{"k_r", {"/relative.table"}, [](const Replay& at) { return at.right("q_r"); }},
                           {"q_r", {"/relative.table"}, [](const Replay& at) { return at.right("k_r"); }}}},
                         {"c2p reads q_r and p2c reads k_r",
                          {c2p_by(index_here, [](const Replay& at) { return at("q_r"); }),
                           p2c_by(index_here, [](const Replay& at) { return at("k_r"); })}},
                         {"both by the projection of keys", {by_the_other(true)}, {"q_r"}},
                         {"both by the projection of queries", {by_the_other(false)}, {"k_r"}},
                         {"c2p is made of keys instead of queries", {c2p_of_keys()}, {"c2p"}},
                         {"p2c is made of queries instead of keys", {p2c_of_queries()}, {"p2c"}},
                         {"c2p is made of keys, p2c of queries", {c2p_of_keys(), p2c_of_queries()}, {"c2p", "p2c"}}}};
}

}  // namespace position_projections_swapped

std::vector<Mistake> term_gather_mistakes() {
    return {
        p2c_of_the_paper::mistake(),              // 1
        p2c_gathered_by_query::mistake(),         // 2
        p2c_not_transposed::mistake(),            // 3
        c2p_key_minus_query::mistake(),           // 4
        index_of_the_wrong_sign::mistake(),       // 5
        position_projections_swapped::mistake(),  // 6
    };
}

}  // namespace locus::conformance

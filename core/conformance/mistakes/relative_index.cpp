// Mistakes 7 to 15 and 120.  The relative index: its centre, its clamp, and which part of the table it points into.
#include <algorithm>
#include <cstdlib>

#include "core/conformance/formulas/relative_rule.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace centre_off_by_one {  // mistake 7

/// The right index, read so many rows further on.
Make rows_further_on(Index rows) {
    return rows_by(
        [rows](const RelativeRule& rule, Index offset) { return rule.inside(rule.bucket(offset) + rule.span + rows); });
}

/// The same without a centre of its own: the right row, then so many further on.
Make rows_after_the_clamp(Index rows) {
    return rows_by([rows](const RelativeRule& rule, Index offset) { return rule.inside(rule.row(offset) + rows); });
}

RowOf bucket_plus(Index rows) {
    return [rows](const RelativeRule& rule, Index offset) { return rule.bucket(offset) + rows; };
}

Mistake mistake() {
    return {.number = 7,
            .name = "the centre of the relative index is off by one",
            .symptom = "a small shift of all positions",
            .betrays = "the diagonal of relative.index is k - 1 or k + 1 instead of k",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index", "c2p", "p2c"},
            .variants = {
                {"centre at k - 1", {index_by([](const RelativeRule& rule, Index offset) {
                     return rule.inside(rule.bucket(offset) + rule.span - 1);
                 })}},
                {"centre at k + 1", {index_by([](const RelativeRule& rule, Index offset) {
                     return rule.inside(rule.bucket(offset) + rule.span + 1);
                 })}},
                {"one row less after the clamp",
                 {index_by([](const RelativeRule& rule, Index offset) { return rule.inside(rule.row(offset) - 1); })}},
                {"one row more after the clamp",
                 {index_by([](const RelativeRule& rule, Index offset) { return rule.inside(rule.row(offset) + 1); })}},
                {"centre at k - 1 in c2p and, negated, k + 1 in p2c", negated_for_p2c(bucket_plus(-1))},
                {"centre at k + 1 in c2p and, negated, k - 1 in p2c", negated_for_p2c(bucket_plus(1))},
                {"centre at k - 1 in c2p alone", {c2p_by(rows_further_on(-1))}},
                {"centre at k + 1 in c2p alone", {c2p_by(rows_further_on(1))}},
                {"centre at k - 1 in p2c alone", {p2c_by(rows_further_on(-1))}},
                {"centre at k + 1 in p2c alone", {p2c_by(rows_further_on(1))}},
                {"one row less after the clamp in c2p alone", {c2p_by(rows_after_the_clamp(-1))}},
                {"one row more after the clamp in c2p alone", {c2p_by(rows_after_the_clamp(1))}},
                {"one row less after the clamp in p2c alone", {p2c_by(rows_after_the_clamp(-1))}},
                {"one row more after the clamp in p2c alone", {p2c_by(rows_after_the_clamp(1))}}}};
}

}  // namespace centre_off_by_one

namespace clamped_to_2k {  // mistake 8

Index up_to_2k(const RelativeRule& rule, Index offset) {
    return std::clamp<Index>(rule.bucket(offset) + rule.span, 0, rule.rows());
}

/// What a row of zeros becomes in a projection.
Matrix<double> bias_of(const Replay& at, const Dense<double>& projection) {
    return projection.bias.size() ? by_head(projection.bias, at.deberta().config().num_attention_heads)
                                  : Matrix<double>();
}

/// Row 0 of the next head, which lies after row 2k - 1 in memory; zeros after the last head.
Matrix<double> row_of_next_head(const Tensor<double>& table) {
    Matrix<double> row = Matrix<double>::Zero(table.extent(0), table.extent(2));
    for (Index h = 0; h + 1 < row.rows(); ++h) row.row(h) = table.matrix(h + 1).row(0);
    return row;
}

Variant reading(const char* how, Make k_r, Make q_r) {
    return {how, {index_by(up_to_2k), c2p_by(index_here, std::move(k_r)), p2c_by(index_here, std::move(q_r))}};
}

std::vector<Variant> clamped_to_2k() {
    return {
        reading(
            "row 2k reads as zeros", [](const Replay& at) { return with_row_behind(at("k_r")); },
            [](const Replay& at) { return with_row_behind(at("q_r")); }),
        reading(
            "row 2k reads what lies after it in memory",
            [](const Replay& at) { return with_row_behind(at("k_r"), row_of_next_head(at("k_r"))); },
            [](const Replay& at) { return with_row_behind(at("q_r"), row_of_next_head(at("q_r"))); }),
        reading(
            "an empty row was appended to the table",
            [](const Replay& at) {
                return with_row_behind(at("k_r"), bias_of(at, at.deberta().position_key(at.layer())));
            },
            [](const Replay& at) {
                return with_row_behind(at("q_r"), bias_of(at, at.deberta().position_query(at.layer())));
            }),
    };
}

Mistake mistake() {
    return {.number = 8,
            .name = "the offset is clamped to 0 ... 2k, as for a table of 2k + 1 rows",
            .symptom = "reads past the end of the table",
            .betrays = "relative.index reaches 2k where i - j >= k",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = clamped_to_2k()};
}

}  // namespace clamped_to_2k

namespace low_clamp {  // mistake 9

Mistake mistake() {
    return {.number = 9,
            .name = "far keys on the right do not share row 0: clamped to 1, or wrapped by a modulo",
            .symptom = "invisible while the text is no longer than k",
            .betrays = "relative.index[0, T-1] is not 0 for T >= 2k",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index", "p2c"},
            .variants = {{"clamped to 1 ... 2k - 1", {index_by([](const RelativeRule& rule, Index offset) {
                              return std::max<Index>(rule.row(offset), 1);
                          })}},
                         {"modulo 2k", {index_by([](const RelativeRule& rule, Index offset) {
                              const Index rest = (rule.bucket(offset) + rule.span) % rule.rows();
                              return rest < 0 ? rest + rule.rows() : rest;
                          })}},
                         {"modulo 2k, negative below 0 as in C", {index_by([](const RelativeRule& rule, Index offset) {
                              return (rule.bucket(offset) + rule.span) % rule.rows();
                          })}},
                         {"clamped to -k ... k - 1 before p2c negates it",
                          negated_for_p2c([](const RelativeRule& rule, Index offset) {
                              return std::clamp<Index>(rule.bucket(offset), -rule.span, rule.span - 1);
                          }),
                          {"p2c"}}}};
}

}  // namespace low_clamp

namespace misprinted_clamp {  // mistake 10

Mistake mistake() {
    return {.number = 10,
            .is_rare = true,
            .name = "row 0 for i - j <= k, where <= -k was meant",
            .symptom = "attention depends on content alone, nearly",
            .betrays = "relative.index holds nothing but 0 and 2k - 1",
            .evidence = "the article by the author of qcqced123/model_study prints it",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"the first case wins at i - j = k", {index_by([](const RelativeRule& rule, Index offset) {
                              return rule.bucket(offset) <= rule.span ? 0 : rule.rows() - 1;
                          })}},
                         {"the second case wins at i - j = k", {index_by([](const RelativeRule& rule, Index offset) {
                              return rule.bucket(offset) < rule.span ? 0 : rule.rows() - 1;
                          })}}}};
}

}  // namespace misprinted_clamp

namespace slice_of_the_table {  // mistake 11

/// How far the used span, min(T, k), stays below k.
Index missing(const RelativeRule& rule) { return rule.span - std::min(std::max(rule.queries, rule.keys), rule.span); }

Index from_the_front(const RelativeRule& rule, Index offset) { return rule.row(offset) - missing(rule); }
Index counted_twice(const RelativeRule& rule, Index offset) { return rule.row(offset) + missing(rule); }
Index clamped_in_slice(const RelativeRule& rule, Index offset) {
    const Index used = rule.span - missing(rule);
    return std::min(rule.row(offset), 2 * used - 1) + missing(rule);
}

/// The index is reported as it should be, and read in the wrong slice.
std::vector<Formula> read_by(const RowOf& row) { return {c2p_by(rows_by(row)), p2c_by(rows_by(row))}; }

Mistake mistake() {
    return {.number = 11,
            .name = "the table is sliced for one span and indexed for another",
            .symptom = "works for T >= k, wrong for shorter texts",
            .betrays = "scores match with rows moved by k - T; no error for T >= k",
            .evidence = "candle debertav2.rs narrows from row 0",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index", "c2p", "p2c"},
            .variants = {{"slice [0, 2s), index i - j + s", {index_by(from_the_front)}},
                         {"slice [k - s, k + s), index i - j + k", {index_by(counted_twice)}},
                         {"slice [k - s, k + s), index i - j + k clamped to the slice", {index_by(clamped_in_slice)}},
                         {"the index is right, the slice is [0, 2s)", read_by(from_the_front)},
                         {"the index is right, the slice is [k - s, k + s)", read_by(counted_twice)},
                         {"the index is right, the slice is [k - s, k + s) and clamps", read_by(clamped_in_slice)}}};
}

}  // namespace slice_of_the_table

namespace absolute_distance {  // mistake 12

Mistake mistake() {
    return {
        .number = 12,
        .name = "the distance |i - j| is used for the offset i - j",
        .symptom = "before and after are the same; direction is lost",
        .betrays = "relative.index is symmetric",
        .evidence = "",
        .lesson = "05",
        .families = {Family::deberta},
        .stems = {"/relative.index"},
        .variants = {
            {"centre k + |i - j|",
             {index_by([](const RelativeRule& rule, Index offset) { return rule.row(std::abs(offset)); })}},
            {"centre k - |i - j|",
             {index_by([](const RelativeRule& rule, Index offset) { return rule.row(-std::abs(offset)); })}},
            {"no centre, |i - j|", {index_by([](const RelativeRule& rule, Index offset) {
                 return rule.inside(rule.bucket(std::abs(offset)));
             })}},
            {"c2p reads k + |i - j| and, negated, p2c k - |i - j|",
             negated_for_p2c([](const RelativeRule& rule, Index offset) { return rule.bucket(std::abs(offset)); })}}};
}

}  // namespace absolute_distance

namespace span_of_half_the_text {  // mistake 13

Mistake mistake() {
    return {.number = 13,
            .name = "the span is half the text, and its rows are the first of the table",
            .symptom = "what a row means changes with the length of the text",
            .betrays = "relative.index[0,0] == T / 2; rows from T on are never read",
            .evidence = "qcqced123/model_study",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"clamped to the first T rows", {index_by([](const RelativeRule& rule, Index offset) {
                              return std::clamp<Index>(offset + rule.queries / 2, 0, rule.queries - 1);
                          })}},
                         {"clamped to 2 (T / 2) rows", {index_by([](const RelativeRule& rule, Index offset) {
                              const Index half = rule.queries / 2;
                              return std::clamp<Index>(offset + half, 0, 2 * half - 1);
                          })}}}};
}

}  // namespace span_of_half_the_text

namespace table_folded_into_batch {  // mistake 14

/// Sample b's table [H,T,d]: rows b T ... b T + T - 1.  A table that does not fold into B pieces crashes instead.
Tensor<double> piece_of(const Tensor<double>& table, Index length, Index b, Index batch) {
    if (table.rank() == 4) {  // reported as it lies in memory
        if (table.extent(0) != batch || table.extent(2) != length) throw NotEnough{"a table of B pieces"};
        Tensor<double> piece({table.extent(1), length, table.extent(3)});
        for (Index h = 0; h < piece.extent(0); ++h) piece.matrix(h) = table.matrix(b * piece.extent(0) + h);
        return piece;
    }
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

/// k_r or q_r as (-1, T, H, d) leaves it: [2k / T,H,T,d], or the same numbers under the right shape.
Formula folded_table(const char* stem) {
    return {stem, {"/relative.table"}, [stem = std::string(stem)](const Replay& at) {
                const Index rank = at.claimed_rank(stem);
                if (rank == 0) throw NotEnough{"the candidate's own " + stem};
                const Tensor<double> right = at.right(stem);
                const Index heads = right.extent(0), rows = right.extent(1), width = right.extent(2);
                const Index length = relative_rule(at).queries;
                if (length < 1 || rows % length != 0 || rows == length) throw NotEnough{"a table of pieces"};
                Tensor<double> pieces({rows / length, heads, length, width});
                for (Index n = 0; n < pieces.extent(0); ++n)
                    for (Index h = 0; h < heads; ++h)
                        pieces.matrix(n * heads + h) = right.matrix(h).middleRows(n * length, length);
                return rank == 3 ? Tensor<double>(right.shape(), pieces.values()) : pieces;
            }};
}

std::vector<Formula> with_index(std::vector<Formula> terms) {
    terms.push_back(index_by(half_text));
    return terms;
}

Mistake mistake() {
    return {.number = 14,
            .name = "the projected table is reshaped to (-1, T, H, d), so that its rows fold into the batch",
            .symptom = "samples of equal tokens differ in c2p; crashes unless 2k = B T",
            .betrays = "k_r has 2k / T in front of H and T instead of 2k rows",
            .evidence = "qcqced123/model_study",
            .lesson = "08",
            .families = {Family::deberta},
            .stems = {"c2p", "p2c", "/relative.index", "k_r", "q_r"},
            .variants = {{"B pieces of T rows, indexed with a span of T / 2", with_index(folded_terms(index_here))},
                         {"B pieces of T rows, indexed with a span of T / 2, while another index is written down",
                          folded_terms(rows_by(half_text))},
                         {"the table's pieces are reported as they are",
                          {folded_table("k_r"), folded_table("q_r")},
                          {"k_r", "q_r"}}}};
}

}  // namespace table_folded_into_batch

namespace lengths_exchanged {  // mistake 15

RelativeRule rule_of_two_lengths(const Replay& at) {
    const RelativeRule rule = relative_rule(at);
    if (rule.queries == rule.keys) throw NotEnough{"two lengths"};
    return rule;
}

Tensor<double> built_the_other_way(const Replay& at) {
    const RelativeRule rule = rule_of_two_lengths(at);
    RelativeRule swapped = rule;
    std::swap(swapped.queries, swapped.keys);
    const Tensor<double> built = swapped.matrix([&](Index offset) { return swapped.row(offset); });
    return Tensor<double>({rule.queries, rule.keys}, built.values());
}

/// As where keys were cached: query 0 stands Tk - Tq places behind key 0.
Tensor<double> queries_at_the_end(const Replay& at) {
    const RelativeRule rule = rule_of_two_lengths(at);
    return rule.matrix([&](Index offset) { return rule.row(offset + rule.keys - rule.queries); });
}

Mistake mistake() {
    return {.number = 15,
            .name = "the index is built for Tk queries and Tq keys and read as Tq x Tk, or for the last Tq places",
            .symptom = "crashes, or is wrong where there are fewer queries than keys; invisible where Tq = Tk",
            .betrays = "rows of a short query block differ from the first rows of the square case",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"built for Tk queries and Tq keys", {{"/relative.index", {}, built_the_other_way}}},
                         {"queries stand at the end of the keys, at i + Tk - Tq",
                          {{"/relative.index", {}, queries_at_the_end}}}}};
}

}  // namespace lengths_exchanged

namespace span_not_added {  // mistake 120

Index from_zero(const RelativeRule& rule, Index offset) { return rule.inside(rule.bucket(offset)); }

/// As Python reads a negative index: from the end of the table.
Index from_the_end(const RelativeRule& rule, Index offset) {
    const Index bucket = std::clamp(rule.bucket(offset), -rule.rows(), rule.rows() - 1);
    return bucket < 0 ? bucket + rule.rows() : bucket;
}

Mistake mistake() {
    return {.number = 120,
            .name = "the span is not added: negative offsets read row 0, or rows from the end of the table",
            .symptom = "what stands before a token and what stands after it read each other's half of the table",
            .betrays = "the diagonal of relative.index is 0, or c2p is right with rows moved by k",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index", "c2p", "p2c"},
            .variants = {{"negative offsets read row 0", {index_by(from_zero)}},
                         {"negative offsets read from the end", {index_by(from_the_end)}},
                         {"in c2p alone, negative offsets read row 0", {c2p_by(rows_by(from_zero))}},
                         {"in c2p alone, negative offsets read from the end", {c2p_by(rows_by(from_the_end))}},
                         {"in p2c alone, negative offsets read row 0", {p2c_by(rows_by(from_zero))}},
                         {"in p2c alone, negative offsets read from the end", {p2c_by(rows_by(from_the_end))}}}};
}

}  // namespace span_not_added

std::vector<Mistake> relative_index_mistakes() {
    return {
        centre_off_by_one::mistake(),        // 7
        clamped_to_2k::mistake(),            // 8
        low_clamp::mistake(),                // 9
        misprinted_clamp::mistake(),         // 10
        slice_of_the_table::mistake(),       // 11
        absolute_distance::mistake(),        // 12
        span_of_half_the_text::mistake(),    // 13
        table_folded_into_batch::mistake(),  // 14
        lengths_exchanged::mistake(),        // 15
    };
}

std::vector<Mistake> later_index_mistakes() { return {span_not_added::mistake()}; }

}  // namespace locus::conformance

#include <algorithm>

#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Index up_to_2k(const RelativeRule& rule, Index offset) {
    return std::clamp<Index>(rule.bucket(offset) + rule.span, 0, rule.rows());
}

/// What a row of zeros becomes in a projection.
Matrix<double> bias_of(const Replay& at, const Dense<double>& projection) {
    return projection.bias.size() ? by_head(projection.bias, at.deberta().config().num_attention_heads)
                                  : Matrix<double>();
}

/// Row 0 of the next head, which lies behind row 2k - 1 in memory; zeros behind the last head.
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
            "row 2k reads what lies behind it in memory",
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

}  // namespace

Mistake mistake_08() {
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

}  // namespace locus::conformance

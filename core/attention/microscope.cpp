#include "core/attention/microscope.h"

#include <cmath>
#include <limits>

namespace locus {

template <class Scalar>
TermExplanation<Scalar> explain_term(std::vector<Scalar> left, std::vector<Scalar> right, Index row) {
    TermExplanation<Scalar> term;
    term.active = true;
    term.row = row;
    for (std::size_t c = 0; c < left.size(); ++c) {
        term.products.push_back(left[c] * right[c]);
        term.value += term.products.back();
        term.running.push_back(term.value);
    }
    term.left = std::move(left);
    term.right = std::move(right);
    return term;
}

namespace {

/// The three terms of one cell and their scaled sum.
template <class Scalar>
CellExplanation<Scalar> explain_score(const HeadTensors<Scalar>& head, const RelativeBuckets& line, P2cIndex p2c_index,
                                      int divisor_terms, Index i, Index j, KeptTerms kept) {
    CellExplanation<Scalar> cell;
    cell.kept = kept;
    cell.i = i;
    cell.j = j;
    cell.offset = i - j;
    cell.bucket = line.row(i, j) - line.span();
    cell.c2c = explain_term<Scalar>(channels_of<Scalar>(head.q, i), channels_of<Scalar>(head.k, j), -1);
    cell.sum = kept.c2c ? cell.c2c.value : Scalar(0);
    if (head.k_r.size() > 0) {
        const Index row = line.row(i, j);
        cell.c2p = explain_term<Scalar>(channels_of<Scalar>(head.q, i), channels_of<Scalar>(head.k_r, row), row);
        if (kept.c2p) cell.sum += cell.c2p.value;
    }
    if (head.q_r.size() > 0) {
        const Index row = p2c_index == P2cIndex::official_ij ? line.row(i, j) : line.row(j, i);
        cell.p2c = explain_term<Scalar>(channels_of<Scalar>(head.k, j), channels_of<Scalar>(head.q_r, row), row);
        if (kept.p2c) cell.sum += cell.p2c.value;
    }
    cell.terms = divisor_terms;
    cell.divisor = score_divisor<Scalar>(divisor_terms, head.q.cols());
    cell.score = cell.sum / cell.divisor;
    return cell;
}

template <class Scalar>
void check_head(const HeadTensors<Scalar>& head, const RelativeBuckets& line, Index i, Index j) {
    LOCUS_CHECK(head.q.rows() == line.queries() && head.k.rows() == line.keys(),
                "explain_cell: " + std::to_string(head.q.rows()) + " queries and " + std::to_string(head.k.rows()) +
                    " keys for a line of " + std::to_string(line.queries()) + " x " + std::to_string(line.keys()));
    LOCUS_CHECK(i >= 0 && i < line.queries() && j >= 0 && j < line.keys(),
                "explain_cell: cell (" + std::to_string(i) + ", " + std::to_string(j) + ") lies outside " +
                    std::to_string(line.queries()) + " x " + std::to_string(line.keys()));
    for (const Matrix<Scalar>* table : {&head.k_r, &head.q_r})
        LOCUS_CHECK(table->size() == 0 || (table->rows() == 2 * line.span() && table->cols() == head.q.cols()),
                    "explain_cell: a table of [" + std::to_string(table->rows()) + ", " +
                        std::to_string(table->cols()) + "], expected [" + std::to_string(2 * line.span()) + ", " +
                        std::to_string(head.q.cols()) + "]");
}

}  // namespace

template <class Scalar>
CellExplanation<Scalar> explain_cell(const HeadTensors<Scalar>& head, const RelativeBuckets& line, P2cIndex p2c_index,
                                     int divisor_terms, Index i, Index j, KeptTerms kept) {
    check_head(head, line, i, j);
    CellExplanation<Scalar> cell = explain_score<Scalar>(head, line, p2c_index, divisor_terms, i, j, kept);
    const auto visible = [&](Index key) { return head.mask.size() == 0 || head.mask(i, key) != 0; };
    cell.visible = visible(j);

    std::vector<Scalar> scores;
    cell.row_maximum = -std::numeric_limits<Scalar>::infinity();
    for (Index key = 0; key < line.keys(); ++key) {
        scores.push_back(explain_score<Scalar>(head, line, p2c_index, divisor_terms, i, key, kept).score);
        if (visible(key) && !(scores.back() <= cell.row_maximum)) {
            cell.row_maximum = scores.back();
            cell.row_maximum_key = key;
        }
    }
    for (Index key = 0; key < line.keys(); ++key)
        cell.denominator +=
            visible(key) ? std::exp(scores[static_cast<std::size_t>(key)] - cell.row_maximum) : Scalar(0);
    cell.sees_nothing = cell.row_maximum_key < 0;
    if (cell.sees_nothing && head.masked_row == MaskedRow::uniform) cell.probability = Scalar(1) / Scalar(line.keys());
    if (!cell.visible) return cell;
    cell.shifted = cell.score - cell.row_maximum;
    cell.exponential = std::exp(cell.shifted);
    cell.probability = cell.exponential / cell.denominator;
    return cell;
}

template TermExplanation<float> explain_term<float>(std::vector<float>, std::vector<float>, Index);
template TermExplanation<double> explain_term<double>(std::vector<double>, std::vector<double>, Index);
template CellExplanation<float> explain_cell<float>(const HeadTensors<float>&, const RelativeBuckets&, P2cIndex, int,
                                                    Index, Index, KeptTerms);
template CellExplanation<double> explain_cell<double>(const HeadTensors<double>&, const RelativeBuckets&, P2cIndex, int,
                                                      Index, Index, KeptTerms);

}  // namespace locus

#include "core/attention/microscope_relative.h"

#include <cmath>
#include <limits>

#include "core/positions/relative_distances.h"

namespace locus {

namespace {

template <class Scalar>
std::vector<Scalar> to_vector(const RowVector<Scalar>& row) {
    return {row.data(), row.data() + row.size()};
}

template <class Scalar>
void check_head(const RelativeHeadTensors<Scalar>& head, Index i, Index j) {
    const Index queries = head.q.rows(), keys = head.k.rows(), width = head.q.cols();
    LOCUS_CHECK(i >= 0 && i < queries && j >= 0 && j < keys, "explain_relative_cell: cell (" + std::to_string(i) +
                                                                 ", " + std::to_string(j) + ") lies outside " +
                                                                 to_string(Shape{queries, keys}));
    LOCUS_CHECK(static_cast<Index>(head.positions.size()) == queries,
                "explain_relative_cell: " + std::to_string(head.positions.size()) + " positions for " +
                    std::to_string(queries) + " queries, expected one each");
    LOCUS_CHECK(head.positions[static_cast<std::size_t>(i)] >= 0,
                "explain_relative_cell: query " + std::to_string(i) + " is not used, expected a token's position");
    LOCUS_CHECK(head.k.cols() == width && head.r_k.cols() == width && head.u.size() == width && head.v.size() == width,
                "explain_relative_cell: k, r_k, u and v need " + std::to_string(width) + " channels like q");
    LOCUS_CHECK(head.mask.rows() == queries && head.mask.cols() == keys,
                "explain_relative_cell: a mask of " + to_string(Shape{head.mask.rows(), head.mask.cols()}) +
                    ", expected " + to_string(Shape{queries, keys}));
    if (!head.has_segments()) return;
    LOCUS_CHECK(head.segments.rows() == 2 && head.segments.cols() == width && head.s.size() == width,
                "explain_relative_cell: a segment table of " +
                    to_string(Shape{head.segments.rows(), head.segments.cols()}) + ", expected " +
                    to_string(Shape{2, width}));
    LOCUS_CHECK(static_cast<Index>(head.query_ids.size()) == queries && static_cast<Index>(head.key_ids.size()) == keys,
                "explain_relative_cell: one segment id per query and per key expected");
}

/// (left + bias) . right, channel by channel from 0: the order of products_of_rows.
template <class Scalar>
Scalar biased_product(const Matrix<Scalar>& left, Index i, const RowVector<Scalar>& bias, const Matrix<Scalar>& right,
                      Index row) {
    Scalar sum = 0;
    for (Index c = 0; c < left.cols(); ++c) {
        const Scalar biased = left(i, c) + bias[c];
        sum += biased * right(row, c);
    }
    return sum;
}

/// The score alone, for the other keys of a row.
template <class Scalar>
Scalar score_of(const RelativeHeadTensors<Scalar>& head, Index i, Index j) {
    const Index row = distance_column(head.first, head.memory, head.positions[static_cast<std::size_t>(i)], j);
    Scalar sum = biased_product(head.q, i, head.u, head.k, j);
    if (row >= 0 && row < head.r_k.rows() && head.mask(i, j) != 0)
        sum += biased_product(head.q, i, head.v, head.r_k, row);
    if (head.has_segments()) {
        const bool other = head.query_ids[static_cast<std::size_t>(i)] != head.key_ids[static_cast<std::size_t>(j)];
        sum += biased_product(head.q, i, head.s, head.segments, other ? 1 : 0);
    }
    return sum / std::sqrt(Scalar(head.q.cols()));
}

/// The cell without the softmax.
template <class Scalar>
RelativeCellExplanation<Scalar> explain_score(const RelativeHeadTensors<Scalar>& head, Index i, Index j) {
    RelativeCellExplanation<Scalar> cell;
    cell.i = i;
    cell.j = j;
    cell.position = head.positions[static_cast<std::size_t>(i)];
    cell.distance = head.memory + cell.position - j;
    const Index row = distance_column(head.first, head.memory, cell.position, j);
    const RowVector<Scalar> q = head.q.row(i), k = head.k.row(j);
    const auto term = [](const RowVector<Scalar>& left, const RowVector<Scalar>& right, Index table_row) {
        return explain_term<Scalar>(to_vector<Scalar>(left), to_vector<Scalar>(right), table_row);
    };
    cell.a = term(q, k, -1);
    cell.c = term(head.u, k, -1);
    cell.ac = term(q + head.u, k, -1);
    if (row >= 0 && row < head.r_k.rows()) {
        const RowVector<Scalar> r = head.r_k.row(row);
        cell.row = row;
        cell.b = term(q, r, row);
        cell.d = term(head.v, r, row);
        cell.bd = term(q + head.v, r, row);
    }
    cell.counted_bd = head.mask(i, j) != 0 ? cell.bd.value : Scalar(0);
    cell.sum = cell.ac.value + cell.counted_bd;
    if (head.has_segments()) {
        cell.other_segment = head.query_ids[static_cast<std::size_t>(i)] != head.key_ids[static_cast<std::size_t>(j)];
        const Index other = cell.other_segment ? 1 : 0;
        cell.ef = term(q + head.s, head.segments.row(other), other);
        cell.sum += cell.ef.value;
    }
    cell.divisor = std::sqrt(Scalar(head.q.cols()));
    cell.score = cell.sum / cell.divisor;
    return cell;
}

}  // namespace

template <class Scalar>
RelativeSoftmax<Scalar> explain_relative_softmax(const std::vector<Scalar>& scores,
                                                 const std::vector<std::uint8_t>& visible, Index j,
                                                 MaskedRow masked_row) {
    LOCUS_CHECK(scores.size() == visible.size() && j >= 0 && j < static_cast<Index>(scores.size()),
                "explain_relative_softmax: key " + std::to_string(j) + " of " + std::to_string(scores.size()) +
                    " scores and a mask of " + std::to_string(visible.size()));
    RelativeSoftmax<Scalar> steps;
    const auto at = static_cast<std::size_t>(j);
    steps.visible = visible[at] != 0;
    steps.row_maximum = -std::numeric_limits<Scalar>::infinity();
    for (std::size_t key = 0; key < scores.size(); ++key)
        if (visible[key] != 0 && !(scores[key] <= steps.row_maximum)) {
            steps.row_maximum = scores[key];
            steps.row_maximum_key = static_cast<Index>(key);
        }
    bool any = false;
    for (std::size_t key = 0; key < scores.size(); ++key) {
        any = any || visible[key] != 0;
        steps.denominator += visible[key] != 0 ? std::exp(scores[key] - steps.row_maximum) : Scalar(0);
    }
    steps.sees_nothing = !any;
    if (steps.sees_nothing) {
        steps.probability =
            masked_row == MaskedRow::zero ? Scalar(0) : Scalar(1) / Scalar(static_cast<Index>(scores.size()));
        return steps;
    }
    if (!steps.visible) return steps;
    steps.shifted = scores[at] - steps.row_maximum;
    steps.exponential = std::exp(steps.shifted);
    steps.probability = steps.exponential / steps.denominator;
    return steps;
}

template <class Scalar>
RelativeCellExplanation<Scalar> explain_relative_cell(const RelativeHeadTensors<Scalar>& head, Index i, Index j) {
    check_head(head, i, j);
    std::vector<Scalar> scores;
    for (Index key = 0; key < head.k.rows(); ++key) scores.push_back(score_of(head, i, key));
    const std::vector<std::uint8_t> visible(head.mask.row(i).data(), head.mask.row(i).data() + head.mask.cols());
    RelativeCellExplanation<Scalar> cell = explain_score(head, i, j);
    cell.softmax = explain_relative_softmax(scores, visible, j, head.masked_row);
    return cell;
}

namespace {

/// The cell of a matrix with `columns` columns that stands `place` cells from its beginning.
ShiftSource source_at(Index place, Index columns, Index padding) {
    return {place, place / columns, place % columns - padding};
}

void check_cell(Index i, Index j, Index rows, Index columns) {
    LOCUS_CHECK(i >= 0 && i < rows && j >= 0 && j < columns, "shift_source: cell (" + std::to_string(i) + ", " +
                                                                 std::to_string(j) + ") lies outside " +
                                                                 to_string(Shape{rows, columns}));
}

}  // namespace

ShiftSource shift_source(Index queries, Index keys, Index i, Index j) {
    check_cell(i, j, queries, keys);
    // The row that is dropped holds as many numbers as there are queries.
    return source_at(queries + i * keys + j, keys + 1, 1);
}

ShiftSource shift_source_xlnet(Index queries, Index rows, Index keys, Index i, Index j) {
    check_cell(i, j, queries, keys);
    LOCUS_CHECK(rows > keys, "shift_source: " + std::to_string(rows) + " distances for " + std::to_string(keys) +
                                 " keys, expected more");
    return source_at(queries + i * (rows - 1) + j, rows, 0);
}

template RelativeSoftmax<float> explain_relative_softmax<float>(const std::vector<float>&,
                                                                const std::vector<std::uint8_t>&, Index, MaskedRow);
template RelativeSoftmax<double> explain_relative_softmax<double>(const std::vector<double>&,
                                                                  const std::vector<std::uint8_t>&, Index, MaskedRow);
template RelativeCellExplanation<float> explain_relative_cell<float>(const RelativeHeadTensors<float>&, Index, Index);
template RelativeCellExplanation<double> explain_relative_cell<double>(const RelativeHeadTensors<double>&, Index,
                                                                       Index);

}  // namespace locus

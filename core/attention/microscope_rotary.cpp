#include "core/attention/microscope_rotary.h"

#include <cmath>
#include <tuple>
#include <utility>

namespace locus {

namespace {

std::pair<Index, Index> channels_of(Index plane, Index planes, RotaryLayout layout) {
    return layout == RotaryLayout::interleaved ? std::pair{2 * plane, 2 * plane + 1} : std::pair{plane, planes + plane};
}

template <class Scalar>
std::vector<Scalar> row_of(const Matrix<Scalar>& matrix, Index row) {
    return {matrix.row(row).data(), matrix.row(row).data() + matrix.cols()};
}

/// The row turned, channel by channel: two sums, as `rotate` has it.
template <class Scalar>
std::vector<Scalar> turned_row(const Matrix<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout,
                               Index row) {
    std::vector<Scalar> turned = row_of<Scalar>(x, row);
    for (Index t = 0; t < table.sin.cols(); ++t) {
        const auto [a, b] = channels_of(t, table.sin.cols(), layout);
        const Scalar cos = table.cos(row, t), sin = table.sin(row, t), minus_sin = -sin;
        turned[static_cast<std::size_t>(a)] = x(row, a) * cos + x(row, b) * minus_sin;
        turned[static_cast<std::size_t>(b)] = x(row, b) * cos + x(row, a) * sin;
    }
    return turned;
}

/// Products of two turned rows, added up channel after channel.
template <class Scalar>
Scalar add_products(const std::vector<Scalar>& left, const std::vector<Scalar>& right, std::vector<Scalar>* products,
                    std::vector<Scalar>* running) {
    Scalar sum = 0;
    for (std::size_t c = 0; c < left.size(); ++c) {
        const Scalar product = left[c] * right[c];
        sum += product;
        if (products) products->push_back(product);
        if (running) running->push_back(sum);
    }
    return sum;
}

template <class Scalar>
void check_head(const RotaryHeadTensors<Scalar>& head, Index i, Index j) {
    LOCUS_CHECK(head.q.cols() == head.k.cols(), "explain_rotary_cell: queries of " + std::to_string(head.q.cols()) +
                                                    " channels and keys of " + std::to_string(head.k.cols()));
    LOCUS_CHECK(i >= 0 && i < head.q.rows() && j >= 0 && j < head.k.rows(),
                "explain_rotary_cell: cell (" + std::to_string(i) + ", " + std::to_string(j) + ") lies outside " +
                    std::to_string(head.q.rows()) + " x " + std::to_string(head.k.rows()));
    for (const auto& [table, rows] : {std::pair{&head.q_table, head.q.rows()}, std::pair{&head.k_table, head.k.rows()}})
        LOCUS_CHECK(table->length() == rows && table->width() <= head.q.cols(),
                    "explain_rotary_cell: angles for " + std::to_string(table->length()) + " positions and " +
                        std::to_string(table->width()) + " channels, expected " + std::to_string(rows) +
                        " and at most " + std::to_string(head.q.cols()));
}

template <class Scalar>
void fill_planes(const RotaryHeadTensors<Scalar>& head, RotaryExplanation<Scalar>& cell) {
    const Index planes = head.q_table.sin.cols();
    for (Index t = 0; t < planes; ++t) {
        TurnedPlane<Scalar> plane;
        std::tie(plane.a, plane.b) = channels_of(t, planes, head.layout);
        const auto a = static_cast<std::size_t>(plane.a), b = static_cast<std::size_t>(plane.b);
        plane.q_a = head.q(cell.i, plane.a);
        plane.q_b = head.q(cell.i, plane.b);
        plane.k_a = head.k(cell.j, plane.a);
        plane.k_b = head.k(cell.j, plane.b);
        plane.q_cos = head.q_table.cos(cell.i, t);
        plane.q_sin = head.q_table.sin(cell.i, t);
        plane.k_cos = head.k_table.cos(cell.j, t);
        plane.k_sin = head.k_table.sin(cell.j, t);
        plane.q_a_rot = cell.left[a];
        plane.q_b_rot = cell.left[b];
        plane.k_a_rot = cell.right[a];
        plane.k_b_rot = cell.right[b];
        plane.product_a = cell.products[a];
        plane.product_b = cell.products[b];
        plane.step = plane.product_a + plane.product_b;
        cell.planes.push_back(plane);
    }
}

}  // namespace

template <class Scalar>
RotaryExplanation<Scalar> explain_rotary_cell(const RotaryHeadTensors<Scalar>& head, Index i, Index j) {
    check_head(head, i, j);
    RotaryExplanation<Scalar> cell;
    cell.i = i;
    cell.j = j;
    cell.left = turned_row<Scalar>(head.q, head.q_table, head.layout, i);
    cell.right = turned_row<Scalar>(head.k, head.k_table, head.layout, j);
    cell.sum = add_products<Scalar>(cell.left, cell.right, &cell.products, &cell.running);
    fill_planes(head, cell);
    cell.divisor = std::sqrt(Scalar(head.q.cols()));
    cell.score = cell.sum / cell.divisor;
    std::vector<Scalar> scores;
    for (Index key = 0; key < head.k.rows(); ++key)
        scores.push_back(add_products<Scalar>(cell.left, turned_row<Scalar>(head.k, head.k_table, head.layout, key),
                                              nullptr, nullptr) /
                         cell.divisor);
    cell.softmax = explain_softmax<Scalar>(scores, head.mask, i, j);
    return cell;
}

template RotaryExplanation<float> explain_rotary_cell<float>(const RotaryHeadTensors<float>&, Index, Index);
template RotaryExplanation<double> explain_rotary_cell<double>(const RotaryHeadTensors<double>&, Index, Index);

}  // namespace locus

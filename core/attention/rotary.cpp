#include "core/attention/rotary.h"

#include <cmath>
#include <utility>

#include "core/products.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> rotary_scores(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const RotaryTable<Scalar>& q_table,
                             const RotaryTable<Scalar>& k_table, RotaryLayout layout) {
    // Each side is rotated by its own position, and only the difference is left: R_i^T R_j = R_{j-i}, for rotations of
    // one plane add up.  So a cached key is rotated once and serves all later queries.
    return products_of_rows<Scalar>(rotate<Scalar>(q, q_table, layout), rotate<Scalar>(k, k_table, layout)) /
           std::sqrt(Scalar(q.cols()));
}

template <class Scalar>
Matrix<Scalar> rotary_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, const Mask& mask) {
    LOCUS_CHECK(k.rows() == v.rows(), "rotary_attention: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
    // Values are not rotated: positions decide how much of a value is read, not what it is.
    return times<Scalar>(masked_softmax<Scalar>(rotary_scores<Scalar>(q, k, table, table, layout), mask), v);
}

// Backward

template <class Scalar>
DotProductGradients<Scalar> rotary_backward(const RotaryHead<Scalar>& head, const RotaryTable<Scalar>& table,
                                            RotaryLayout layout, const ConstView<Scalar>& d_context) {
    // The gradients of the rotated vectors are those of plain attention ...
    const Matrix<Scalar> v = head.rotates_values ? rotate<Scalar>(head.v, table, layout) : head.v;
    DotProductGradients<Scalar> grad =
        scaled_dot_product_backward<Scalar>(rotate<Scalar>(head.q, table, layout),
                                            rotate<Scalar>(head.k, table, layout), v, head.probs, head.keep, d_context);
    // ... and the transpose of a rotation is the rotation by the opposite angle.
    grad.q = rotate_back<Scalar>(grad.q, table, layout);
    grad.k = rotate_back<Scalar>(grad.k, table, layout);
    if (head.rotates_values) grad.v = rotate_back<Scalar>(grad.v, table, layout);
    return grad;
}

// Explanation

namespace {

/// One row rotated, channel by channel: two sums each, as `rotate` has it.
template <class Scalar>
std::vector<Scalar> rotated_row(const Matrix<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout,
                                Index row) {
    std::vector<Scalar> rotated = channels_of<Scalar>(x, row);
    for (Index t = 0; t < table.sin.cols(); ++t) {
        const auto [a, b] = plane_channels(t, table.sin.cols(), layout);
        const Scalar cos = table.cos(row, t), sin = table.sin(row, t), minus_sin = -sin;
        rotated[static_cast<std::size_t>(a)] = x(row, a) * cos + x(row, b) * minus_sin;
        rotated[static_cast<std::size_t>(b)] = x(row, b) * cos + x(row, a) * sin;
    }
    return rotated;
}

template <class Scalar>
void check_cell(const RotaryHeadTensors<Scalar>& head, Index i, Index j) {
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

/// The same numbers of the cell, plane by plane.
template <class Scalar>
void fill_planes(const RotaryHeadTensors<Scalar>& head, RotaryExplanation<Scalar>& cell) {
    // A plane's two products together are the dot product of two arrows of the plane, which the page draws: their sum
    // is |q||k| cos of the angle between them, and that angle moved by (i - j) theta_t.
    const Index planes = head.q_table.sin.cols();
    for (Index t = 0; t < planes; ++t) {
        RotatedPlane<Scalar> plane;
        const auto [channel_a, channel_b] = plane_channels(t, planes, head.layout);
        plane.a = channel_a;
        plane.b = channel_b;
        const auto a = static_cast<std::size_t>(channel_a), b = static_cast<std::size_t>(channel_b);
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
    check_cell(head, i, j);
    RotaryExplanation<Scalar> cell;
    cell.i = i;
    cell.j = j;
    const auto term_of = [&](Index key) {
        return explain_term<Scalar>(rotated_row<Scalar>(head.q, head.q_table, head.layout, i),
                                    rotated_row<Scalar>(head.k, head.k_table, head.layout, key), -1);
    };
    // One sum over all d channels, in their order, not plane by plane: so products_of_rows adds them.
    TermExplanation<Scalar> term = term_of(j);
    cell.left = std::move(term.left);
    cell.right = std::move(term.right);
    cell.products = std::move(term.products);
    cell.running = std::move(term.running);
    cell.sum = term.value;
    fill_planes(head, cell);
    cell.divisor = std::sqrt(Scalar(head.q.cols()));
    cell.score = cell.sum / cell.divisor;
    // The softmax needs the scores of the whole row.
    std::vector<Scalar> scores;
    for (Index key = 0; key < head.k.rows(); ++key) scores.push_back(term_of(key).value / cell.divisor);
    cell.softmax = explain_softmax<Scalar>(scores, head.mask, i, j, head.masked_row);
    return cell;
}

template Matrix<float> rotary_scores<float>(const ConstView<float>&, const ConstView<float>&, const RotaryTable<float>&,
                                            const RotaryTable<float>&, RotaryLayout);
template Matrix<double> rotary_scores<double>(const ConstView<double>&, const ConstView<double>&,
                                              const RotaryTable<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<float> rotary_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                               const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                               const Mask&);
template Matrix<double> rotary_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                 const ConstView<double>&, const RotaryTable<double>&, RotaryLayout,
                                                 const Mask&);
template DotProductGradients<float> rotary_backward<float>(const RotaryHead<float>&, const RotaryTable<float>&,
                                                           RotaryLayout, const ConstView<float>&);
template DotProductGradients<double> rotary_backward<double>(const RotaryHead<double>&, const RotaryTable<double>&,
                                                             RotaryLayout, const ConstView<double>&);
template RotaryExplanation<float> explain_rotary_cell<float>(const RotaryHeadTensors<float>&, Index, Index);
template RotaryExplanation<double> explain_rotary_cell<double>(const RotaryHeadTensors<double>&, Index, Index);

}  // namespace locus

#include "core/attention/relative_backward.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/attention/softmax_backward.h"
#include "core/check_shape.h"

namespace locus {

namespace {

constexpr const char* kRelativeBackward = "relative_backward";

template <class Scalar>
void check_shapes(const RelativeKeys<Scalar>& keys, const RelativeQueries<Scalar>& queries) {
    const Index width = queries.q.cols(), count = keys.k.rows();
    check_shape(kRelativeBackward, "k", keys.k, count, width);
    check_shape(kRelativeBackward, "v", keys.v, count, keys.v.cols());
    check_shape(kRelativeBackward, "r_k", keys.r_k, keys.r_k.rows(), width);
    check_shape(kRelativeBackward, "content_bias", keys.content_bias, 1, width);
    check_shape(kRelativeBackward, "position_bias", keys.position_bias, 1, width);
    check_shape(kRelativeBackward, "probs", queries.probs, queries.q.rows(), count);
}

/// 0, 1, 2, ... where the queries did not say otherwise.
std::vector<Index> places(const std::vector<Index>& positions, Index queries) {
    if (!positions.empty()) return positions;
    std::vector<Index> in_order(static_cast<std::size_t>(queries));
    std::iota(in_order.begin(), in_order.end(), Index(0));
    return in_order;
}

}  // namespace

template <class Scalar>
Matrix<Scalar> shift_back_by_index(const ConstView<Scalar>& d_bd, Index columns, Index first, Index memory,
                                   const std::vector<Index>& positions) {
    LOCUS_CHECK(static_cast<Index>(positions.size()) == d_bd.rows(),
                "shift_back_by_index: " + std::to_string(positions.size()) + " positions for " +
                    std::to_string(d_bd.rows()) + " queries, expected one each");
    Matrix<Scalar> d_bd_raw = Matrix<Scalar>::Zero(d_bd.rows(), columns);
    for (Index p = 0; p < d_bd.rows(); ++p) {
        const Index i = positions[static_cast<std::size_t>(p)];
        if (i < 0) continue;
        // Columns rise with j one by one, so a row goes back as one contiguous piece.
        const Index offset = distance_column(first, memory, i, 0);
        const Index begin = std::max<Index>(0, -offset), end = std::min(d_bd.cols(), columns - offset);
        if (begin < end) d_bd_raw.row(p).segment(begin + offset, end - begin) = d_bd.row(p).segment(begin, end - begin);
    }
    return d_bd_raw;
}

template <class Scalar>
RelativeGradients<Scalar> relative_backward(const RelativeKeys<Scalar>& keys, const RelativeQueries<Scalar>& queries,
                                            const ConstView<Scalar>& d_context) {
    check_shapes(keys, queries);
    ContextGradients<Scalar> end = context_backward<Scalar>(queries.probs, queries.keep, keys.v, d_context);
    RelativeGradients<Scalar> grad;
    grad.v = std::move(end.v);
    grad.scores = end.scores / std::sqrt(Scalar(queries.q.cols()));
    const Matrix<Scalar> by_distance = shift_back_by_index<Scalar>(
        grad.scores, keys.r_k.rows(), keys.first, keys.memory, places(queries.positions, queries.q.rows()));

    const Matrix<Scalar> of_content = grad.scores * keys.k, of_position = by_distance * keys.r_k;
    grad.q = of_content + of_position;
    grad.content_bias = of_content.colwise().sum();
    grad.position_bias = of_position.colwise().sum();
    grad.k = grad.scores.transpose() * (queries.q.rowwise() + keys.content_bias);
    grad.r_k = by_distance.transpose() * (queries.q.rowwise() + keys.position_bias);
    return grad;
}

template Matrix<float> shift_back_by_index<float>(const ConstView<float>&, Index, Index, Index,
                                                  const std::vector<Index>&);
template Matrix<double> shift_back_by_index<double>(const ConstView<double>&, Index, Index, Index,
                                                    const std::vector<Index>&);
template RelativeGradients<float> relative_backward<float>(const RelativeKeys<float>&, const RelativeQueries<float>&,
                                                           const ConstView<float>&);
template RelativeGradients<double> relative_backward<double>(const RelativeKeys<double>&,
                                                             const RelativeQueries<double>&, const ConstView<double>&);

}  // namespace locus

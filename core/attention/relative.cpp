#include "core/attention/relative.h"

#include <cmath>
#include <numeric>

namespace locus {

// Forward

namespace {

/// q with the same vector added to every query.
template <class Scalar>
Matrix<Scalar> plus_bias(const ConstView<Scalar>& q, const RowVector<Scalar>& bias, const char* name) {
    LOCUS_CHECK(bias.size() == q.cols(), std::string("relative attention: ") + name + " has " +
                                             std::to_string(bias.size()) + " channels, expected " +
                                             std::to_string(q.cols()) + " like q");
    return q.rowwise() + bias;
}

}  // namespace

template <class Scalar>
Matrix<Scalar> content_term(const ConstView<Scalar>& q, const RowVector<Scalar>& u, const ConstView<Scalar>& k) {
    // (a) + (c) of the paper in one product, as every program computes them: q_i . k_j + u . k_j.
    return products_of_rows<Scalar>(plus_bias<Scalar>(q, u, "u"), k);
}

template <class Scalar>
Matrix<Scalar> position_term(const ConstView<Scalar>& q, const RowVector<Scalar>& v, const ConstView<Scalar>& r_k) {
    // (b) + (d): every query against every distance.  Which distance belongs to which key is the shift's business.
    return products_of_rows<Scalar>(plus_bias<Scalar>(q, v, "v"), r_k);
}

template <class Scalar>
RelativeTerms<Scalar> relative_terms(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                     const ConstView<Scalar>& r_k, const RowVector<Scalar>& u,
                                     const RowVector<Scalar>& v, Index first) {
    // u and v stand where the query's vector stood: what any query asks of this key, and of this distance.
    const Matrix<Scalar> u_rows = u.replicate(q.rows(), 1), v_rows = v.replicate(q.rows(), 1);
    return {products_of_rows<Scalar>(q, k), shift_by_index<Scalar>(products_of_rows<Scalar>(q, r_k), k.rows(), first),
            products_of_rows<Scalar>(u_rows, k),
            shift_by_index<Scalar>(products_of_rows<Scalar>(v_rows, r_k), k.rows(), first)};
}

template <class Scalar>
RelativeTerms<Scalar> absolute_terms(const ConstView<Scalar>& content, const ConstView<Scalar>& positions,
                                     const ConstView<Scalar>& w_q, const ConstView<Scalar>& w_k) {
    // Vectors are content + position, so the product of query and key has four parts.
    const Matrix<Scalar> content_q = times_transposed<Scalar>(content, w_q),
                         content_k = times_transposed<Scalar>(content, w_k);
    const Matrix<Scalar> position_q = times_transposed<Scalar>(positions, w_q),
                         position_k = times_transposed<Scalar>(positions, w_k);
    return {products_of_rows<Scalar>(content_q, content_k), products_of_rows<Scalar>(content_q, position_k),
            products_of_rows<Scalar>(position_q, content_k), products_of_rows<Scalar>(position_q, position_k)};
}

Mask transformer_xl_mask(Index queries, Index memory, bool same_length, Index memory_length) {
    const Index keys = memory + queries;
    // Keys that the memory has no room for; only those push old keys out of sight.
    const Index beyond = keys - memory_length;
    const Index shift = beyond > 0 ? queries - beyond : queries;
    Mask visible(queries, keys);
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) visible(i, j) = j <= i + memory && !(same_length && j <= i - shift);
    return visible;
}

// Backward

namespace {

constexpr const char* kRelativeBackward = "relative_backward";

template <class Scalar>
void check_operands(const RelativeKeys<Scalar>& keys, const RelativeQueries<Scalar>& queries) {
    const Index width = queries.q.cols(), count = keys.k.rows();
    check_shape(kRelativeBackward, "k", keys.k, count, width);
    check_shape(kRelativeBackward, "v", keys.v, count, keys.v.cols());
    check_shape(kRelativeBackward, "r_k", keys.r_k, keys.r_k.rows(), width);
    check_shape(kRelativeBackward, "content_bias", keys.content_bias, 1, width);
    check_shape(kRelativeBackward, "position_bias", keys.position_bias, 1, width);
    check_shape(kRelativeBackward, "probs", queries.probs, queries.q.rows(), count);
}

/// 0, 1, 2, ... where the queries did not say otherwise.
std::vector<Index> positions_or_order(const std::vector<Index>& positions, Index queries) {
    if (!positions.empty()) return positions;
    std::vector<Index> in_order(static_cast<std::size_t>(queries));
    std::iota(in_order.begin(), in_order.end(), Index(0));
    return in_order;
}

}  // namespace

template <class Scalar>
RelativeGradients<Scalar> relative_backward(const RelativeKeys<Scalar>& keys, const RelativeQueries<Scalar>& queries,
                                            const ConstView<Scalar>& d_context) {
    check_operands(keys, queries);
    RelativeGradients<Scalar> grad;
    // From the context through dropout and softmax to the scores, and through the division to the sum of the terms.
    ContextGradients<Scalar> end = context_backward<Scalar>(queries.probs, queries.keep, keys.v, d_context);
    grad.v = std::move(end.v);
    grad.scores = end.scores / std::sqrt(Scalar(queries.q.cols()));

    // ac = (q + u) k^T, and bd = shift((q + v) r_k^T), whose gradient is shifted back first.
    const Matrix<Scalar> d_bd_raw = shift_back_by_index<Scalar>(
        grad.scores, keys.r_k.rows(), keys.first, keys.memory, positions_or_order(queries.positions, queries.q.rows()));
    const Matrix<Scalar> of_content = times<Scalar>(grad.scores, keys.k),
                         of_position = times<Scalar>(d_bd_raw, keys.r_k);
    grad.q = of_content + of_position;
    // u and v were added to every query, so they get the sum over the queries.
    grad.content_bias = of_content.colwise().sum();
    grad.position_bias = of_position.colwise().sum();
    grad.k = transposed_times<Scalar>(grad.scores, queries.q.rowwise() + keys.content_bias);
    grad.r_k = transposed_times<Scalar>(d_bd_raw, queries.q.rowwise() + keys.position_bias);
    return grad;
}

// Explanation

namespace {

template <class Scalar>
void check_cell(const RelativeHeadTensors<Scalar>& head, Index i, Index j) {
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
                "explain_relative_cell: k, r_k, u and v have " + std::to_string(head.k.cols()) + ", " +
                    std::to_string(head.r_k.cols()) + ", " + std::to_string(head.u.size()) + " and " +
                    std::to_string(head.v.size()) + " channels, expected " + std::to_string(width) + " like q");
    LOCUS_CHECK(head.mask.rows() == queries && head.mask.cols() == keys,
                "explain_relative_cell: a mask of " + to_string(Shape{head.mask.rows(), head.mask.cols()}) +
                    ", expected " + to_string(Shape{queries, keys}));
    if (!head.has_segments()) return;
    LOCUS_CHECK(head.segments.rows() == 2 && head.segments.cols() == width && head.s.size() == width,
                "explain_relative_cell: a segment table of " +
                    to_string(Shape{head.segments.rows(), head.segments.cols()}) + ", expected " +
                    to_string(Shape{2, width}));
    LOCUS_CHECK(static_cast<Index>(head.query_ids.size()) == queries && static_cast<Index>(head.key_ids.size()) == keys,
                "explain_relative_cell: " + std::to_string(head.query_ids.size()) + " and " +
                    std::to_string(head.key_ids.size()) + " segment ids for " + std::to_string(queries) +
                    " queries and " + std::to_string(keys) + " keys, expected one each");
}

/// The cell without the softmax.
template <class Scalar>
RelativeCellExplanation<Scalar> explain_score(const RelativeHeadTensors<Scalar>& head, Index i, Index j) {
    RelativeCellExplanation<Scalar> cell;
    cell.i = i;
    cell.j = j;
    cell.position = head.positions[static_cast<std::size_t>(i)];
    cell.distance = head.memory + cell.position - j;
    const RowVector<Scalar> q = head.q.row(i), k = head.k.row(j);
    const auto term = [](const RowVector<Scalar>& left, const RowVector<Scalar>& right, Index table_row) {
        return explain_term<Scalar>(channels_of<Scalar>(left, 0), channels_of<Scalar>(right, 0), table_row);
    };
    cell.a = term(q, k, -1);
    cell.c = term(head.u, k, -1);
    cell.ac = term(q + head.u, k, -1);
    const Index row = distance_column(head.first, head.memory, cell.position, j);
    if (row >= 0 && row < head.r_k.rows()) {
        const RowVector<Scalar> r = head.r_k.row(row);
        cell.row = row;
        cell.b = term(q, r, row);
        cell.d = term(head.v, r, row);
        cell.bd = term(q + head.v, r, row);
    }
    // The sum is made of the terms as the code adds them; a b c d show the paper's four beside it.
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
RelativeCellExplanation<Scalar> explain_relative_cell(const RelativeHeadTensors<Scalar>& head, Index i, Index j) {
    check_cell(head, i, j);
    RelativeCellExplanation<Scalar> cell = explain_score(head, i, j);
    // The softmax needs the scores of the whole row.
    std::vector<Scalar> scores;
    for (Index key = 0; key < head.k.rows(); ++key) scores.push_back(explain_score(head, i, key).score);
    cell.softmax = explain_softmax<Scalar>(scores, head.mask, i, j, head.masked_row);
    return cell;
}

template Matrix<float> content_term<float>(const ConstView<float>&, const RowVector<float>&, const ConstView<float>&);
template Matrix<double> content_term<double>(const ConstView<double>&, const RowVector<double>&,
                                             const ConstView<double>&);
template Matrix<float> position_term<float>(const ConstView<float>&, const RowVector<float>&, const ConstView<float>&);
template Matrix<double> position_term<double>(const ConstView<double>&, const RowVector<double>&,
                                              const ConstView<double>&);
template RelativeTerms<float> relative_terms<float>(const ConstView<float>&, const ConstView<float>&,
                                                    const ConstView<float>&, const RowVector<float>&,
                                                    const RowVector<float>&, Index);
template RelativeTerms<double> relative_terms<double>(const ConstView<double>&, const ConstView<double>&,
                                                      const ConstView<double>&, const RowVector<double>&,
                                                      const RowVector<double>&, Index);
template RelativeTerms<float> absolute_terms<float>(const ConstView<float>&, const ConstView<float>&,
                                                    const ConstView<float>&, const ConstView<float>&);
template RelativeTerms<double> absolute_terms<double>(const ConstView<double>&, const ConstView<double>&,
                                                      const ConstView<double>&, const ConstView<double>&);
template RelativeGradients<float> relative_backward<float>(const RelativeKeys<float>&, const RelativeQueries<float>&,
                                                           const ConstView<float>&);
template RelativeGradients<double> relative_backward<double>(const RelativeKeys<double>&,
                                                             const RelativeQueries<double>&, const ConstView<double>&);
template RelativeCellExplanation<float> explain_relative_cell<float>(const RelativeHeadTensors<float>&, Index, Index);
template RelativeCellExplanation<double> explain_relative_cell<double>(const RelativeHeadTensors<double>&, Index,
                                                                       Index);

}  // namespace locus

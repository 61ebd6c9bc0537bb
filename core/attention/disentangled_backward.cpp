#include "core/attention/disentangled_backward.h"

#include "core/attention/slices_backward.h"
#include "core/attention/softmax_backward.h"
#include "core/check_shape.h"

namespace locus {

namespace {

constexpr const char* kDisentangledBackward = "disentangled_backward";

template <class Scalar>
void check_shapes(const DisentangledHead<Scalar>& head, const RelativeBuckets& line,
                  const ConstView<Scalar>& d_context) {
    const Index queries = line.queries(), keys = line.keys(), width = head.q.cols();
    check_shape(kDisentangledBackward, "q", head.q, queries, width);
    check_shape(kDisentangledBackward, "k", head.k, keys, width);
    check_shape(kDisentangledBackward, "v", head.v, keys, head.v.cols());
    check_shape(kDisentangledBackward, "probs", head.probs, queries, keys);
    check_shape(kDisentangledBackward, "the gradient of the context", d_context, queries, head.v.cols());
    if (head.keep.size() > 0) check_shape(kDisentangledBackward, "keep", head.keep, queries, keys);
    if (head.k_r.size() > 0) check_shape(kDisentangledBackward, "k_r", head.k_r, 2 * line.span(), width);
    if (head.q_r.size() > 0) check_shape(kDisentangledBackward, "q_r", head.q_r, 2 * line.span(), width);
    LOCUS_CHECK(head.q_r.size() == 0 || head.p2c_index == P2cIndex::official_ij || queries == keys,
                std::string(kDisentangledBackward) + ": p2c by delta(j,i) of " + std::to_string(queries) +
                    " queries and " + std::to_string(keys) + " keys, expected as many: one line serves both terms");
}

}  // namespace

template <class Scalar>
DisentangledGradients<Scalar> disentangled_backward(const DisentangledHead<Scalar>& head, const RelativeBuckets& line,
                                                    const ConstView<Scalar>& d_context) {
    check_shapes<Scalar>(head, line, d_context);
    ContextGradients<Scalar> end = context_backward<Scalar>(head.probs, head.keep, head.v, d_context);
    DisentangledGradients<Scalar> grad;
    grad.v = std::move(end.v);
    grad.scores = end.scores / head.divisor;

    grad.q = grad.scores * head.k;
    grad.k = grad.scores.transpose() * head.q;
    if (head.k_r.size() > 0) {
        const Matrix<Scalar> by_query = scatter_slices_by_query<Scalar>(grad.scores, line);
        grad.q += by_query * head.k_r;
        grad.k_r = by_query.transpose() * head.q;
    }
    if (head.q_r.size() > 0) {
        // By key, the rows of delta(i,j); as printed in the paper those of delta(j,i), where j stands first.
        const Matrix<Scalar> by_key =
            head.p2c_index == P2cIndex::official_ij
                ? scatter_slices_by_key<Scalar>(grad.scores, line)
                : scatter_slices_by_query<Scalar>(Matrix<Scalar>(grad.scores.transpose()), line);
        grad.k += by_key * head.q_r;
        grad.q_r = by_key.transpose() * head.k;
    }
    return grad;
}

template <class Scalar>
PositionGradients<Scalar> position_to_position_backward(const ConstView<Scalar>& q_r, const ConstView<Scalar>& k_r,
                                                        const RelativeBuckets& line, const ConstView<Scalar>& d_p2p) {
    constexpr const char* kFunction = "position_to_position_backward";
    const Index rows = 2 * line.span(), tokens = line.queries();
    LOCUS_CHECK(tokens == line.keys(), std::string(kFunction) + ": a line of " + std::to_string(tokens) + " x " +
                                           std::to_string(line.keys()) + " pairs, expected as many keys as queries");
    check_shape(kFunction, "q_r", q_r, rows, q_r.cols());
    check_shape(kFunction, "k_r", k_r, rows, q_r.cols());
    check_shape(kFunction, "d_p2p", d_p2p, tokens, tokens);
    Matrix<Scalar> by_rows = Matrix<Scalar>::Zero(rows, rows);
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j < tokens; ++j) by_rows(line.row(j, i), line.row(i, j)) += d_p2p(i, j);
    return {by_rows * k_r, by_rows.transpose() * q_r};
}

template DisentangledGradients<float> disentangled_backward<float>(const DisentangledHead<float>&,
                                                                   const RelativeBuckets&, const ConstView<float>&);
template DisentangledGradients<double> disentangled_backward<double>(const DisentangledHead<double>&,
                                                                     const RelativeBuckets&, const ConstView<double>&);
template PositionGradients<float> position_to_position_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                                       const RelativeBuckets&, const ConstView<float>&);
template PositionGradients<double> position_to_position_backward<double>(const ConstView<double>&,
                                                                         const ConstView<double>&,
                                                                         const RelativeBuckets&,
                                                                         const ConstView<double>&);

}  // namespace locus

#include "core/fast/attention_head.h"

#include "core/fast/matrix_products.h"
#include "core/fast/slices.h"

namespace locus {

namespace {

Index whole_blocks(Index count) { return (count + kSimdBlock - 1) / kSimdBlock * kSimdBlock; }

/// rows turned into `turned` [width, padded], columns in whole blocks.
template <class Scalar>
void turn_into(const Scalar* data, Index stride, Index rows, Index width, Matrix<Scalar>& turned) {
    turned.resize(width, whole_blocks(rows));
    turn_rows<Scalar>(data, stride, rows, width, turned.data(), turned.cols());
}

/// c [rows,cols] = or (add) += a b, all with strides.
template <class Scalar>
void multiply(const Scalar* a, Index a_stride, const Scalar* b, Index b_stride, Index rows, Index cols, Index depth,
              Scalar* c, Index c_stride, bool add) {
    best_simd_kernels<Scalar>().multiply(a, a_stride, b, b_stride, rows, cols, depth, c, c_stride, add);
}

/// x [T,d] against `count` rows that were turned -> [T, padded count]; what lies behind column `count` is noise.
template <class Scalar>
void against(HeadRows<const Scalar> x, const Matrix<Scalar>& turned, Index count, Matrix<Scalar>& out) {
    constexpr Index kRegister = 16;
    out.resize(x.rows, turned.cols());
    multiply(x.data, x.stride, turned.data(), turned.cols(), x.rows, (count + kRegister - 1) / kRegister * kRegister,
             x.width, out.data(), out.cols(), false);
}

/// Row by row: softmax of scores / divisor over the keys that are seen; `scores` has padded columns and is used up.
template <class Scalar>
void softmax_rows(Matrix<Scalar>& scores, Index keys, const Matrix<std::uint8_t>* mask, Scalar divisor,
                  Matrix<Scalar>& probs) {
    probs.resize(scores.rows(), keys);
    for (Index i = 0; i < scores.rows(); ++i) {
        if (mask && mask->row(i).maxCoeff() == 0) {
            probs.row(i).setZero();
            continue;
        }
        const Scalar sum = best_simd_kernels<Scalar>().exponentials(&scores(i, 0), keys,
                                                                    mask ? mask->row(i).data() : nullptr, 1 / divisor);
        probs.row(i) = scores.row(i).head(keys) / sum;
    }
}

/// One position term backwards: `scattered` [T,2k] holds the scores' gradient by table row.  Adds scattered * table to
/// d_x [T,d] and scattered^T x to d_table [2k,d].
template <class Scalar>
void term_backward(const Matrix<Scalar>& scattered, const Matrix<Scalar>& table, HeadRows<const Scalar> x,
                   HeadBuffers<Scalar>& buffers, HeadRows<Scalar> d_x, HeadRows<Scalar> d_table) {
    multiply(scattered.data(), scattered.cols(), table.data(), table.cols(), x.rows, x.width, table.rows(), d_x.data,
             d_x.stride, true);
    turn_into(scattered.data(), scattered.cols(), scattered.rows(), scattered.cols(), buffers.turned);
    multiply<Scalar>(buffers.turned.data(), buffers.turned.cols(), x.data, x.stride, table.rows(), x.width, x.rows,
                     d_table.data, d_table.stride, true);
}

/// d_x = (or +=) scores^T y, scores [T,T] and y [T,d].
template <class Scalar>
void transposed_product(const Matrix<Scalar>& scores, HeadRows<const Scalar> y, HeadBuffers<Scalar>& buffers,
                        HeadRows<Scalar> d_x) {
    turn_into(scores.data(), scores.cols(), scores.rows(), scores.cols(), buffers.turned);
    multiply<Scalar>(buffers.turned.data(), buffers.turned.cols(), y.data, y.stride, scores.cols(), y.width,
                     scores.rows(), d_x.data, d_x.stride, false);
}

}  // namespace

template <class Scalar>
HeadTables<Scalar> head_tables(const ConstView<Scalar>& k_r, const ConstView<Scalar>& q_r) {
    HeadTables<Scalar> tables{k_r, q_r, {}, {}};
    if (k_r.size() > 0) {
        const Matrix<Scalar> reversed = k_r.colwise().reverse();  // as add_slices_by_query reads it
        turn_into(reversed.data(), reversed.cols(), reversed.rows(), reversed.cols(), tables.k_r_turned);
    }
    if (q_r.size() > 0) turn_into(tables.q_r.data(), tables.q_r.cols(), q_r.rows(), q_r.cols(), tables.q_r_turned);
    return tables;
}

template <class Scalar>
void head_probabilities(HeadRows<const Scalar> q, HeadRows<const Scalar> k, const HeadTables<Scalar>& tables,
                        const RelativeBuckets& line, const Matrix<std::uint8_t>* mask, Scalar divisor,
                        HeadBuffers<Scalar>& buffers, Matrix<Scalar>& probs) {
    turn_into(k.data, k.stride, k.rows, k.width, buffers.turned);
    against(q, buffers.turned, k.rows, buffers.scores);
    View<Scalar> scores = buffers.scores.leftCols(k.rows);
    if (tables.k_r.size() > 0) {
        against(q, tables.k_r_turned, tables.k_r.rows(), buffers.table);
        add_slices_by_query<Scalar>(buffers.table.leftCols(tables.k_r.rows()), line, scores);
    }
    if (tables.q_r.size() > 0) {
        against(k, tables.q_r_turned, tables.q_r.rows(), buffers.table);
        add_slices_by_key<Scalar>(buffers.table.leftCols(tables.q_r.rows()), line, scores);
    }
    softmax_rows(buffers.scores, k.rows, mask, divisor, probs);
}

template <class Scalar>
void head_context(const Matrix<Scalar>& probs, HeadRows<const Scalar> v, HeadRows<Scalar> context) {
    multiply<Scalar>(probs.data(), probs.cols(), v.data, v.stride, probs.rows(), v.width, v.rows, context.data,
                     context.stride, false);
}

template <class Scalar>
void head_backward(const HeadBackward<Scalar>& head, const HeadTables<Scalar>& tables, HeadBuffers<Scalar>& buffers,
                   HeadRows<Scalar> d_q, HeadRows<Scalar> d_k, HeadRows<Scalar> d_v, HeadRows<Scalar> d_k_r,
                   HeadRows<Scalar> d_q_r, Matrix<Scalar>& d_scores) {
    const Index length = head.q.rows;
    // dP = (dO V^T) Z, where the dropped probabilities are P Z; dS = P (dP - rowsum(P dP)) / divisor.
    turn_into(head.v.data, head.v.stride, length, head.v.width, buffers.turned);
    against(head.d_context, buffers.turned, length, buffers.scores);
    d_scores.resize(length, length);
    const Matrix<Scalar>& behind = head.dropped ? *head.dropped : head.probs;
    for (Index i = 0; i < length; ++i) {
        // P Z dO V^T without P: the sum of a row needs no division by it.
        const auto d_behind = buffers.scores.row(i).head(length).array();
        const Scalar along = (behind.row(i).array() * d_behind).sum();
        d_scores.row(i) = (behind.row(i).array() * d_behind - head.probs.row(i).array() * along) / head.divisor;
    }
    transposed_product(behind, head.d_context, buffers, d_v);
    multiply<Scalar>(d_scores.data(), length, head.k.data, head.k.stride, length, head.k.width, length, d_q.data,
                     d_q.stride, false);
    transposed_product(d_scores, head.q, buffers, d_k);
    if (tables.k_r.size() > 0)
        term_backward<Scalar>(scatter_slices_by_query<Scalar>(d_scores, head.line), tables.k_r, head.q, buffers, d_q,
                              d_k_r);
    if (tables.q_r.size() > 0)
        term_backward<Scalar>(scatter_slices_by_key<Scalar>(d_scores, head.line), tables.q_r, head.k, buffers, d_k,
                              d_q_r);
}

template HeadTables<float> head_tables<float>(const ConstView<float>&, const ConstView<float>&);
template void head_probabilities<float>(HeadRows<const float>, HeadRows<const float>, const HeadTables<float>&,
                                        const RelativeBuckets&, const Matrix<std::uint8_t>*, float, HeadBuffers<float>&,
                                        Matrix<float>&);
template void head_context<float>(const Matrix<float>&, HeadRows<const float>, HeadRows<float>);
template void head_backward<float>(const HeadBackward<float>&, const HeadTables<float>&, HeadBuffers<float>&,
                                   HeadRows<float>, HeadRows<float>, HeadRows<float>, HeadRows<float>, HeadRows<float>,
                                   Matrix<float>&);
template HeadTables<double> head_tables<double>(const ConstView<double>&, const ConstView<double>&);
template void head_probabilities<double>(HeadRows<const double>, HeadRows<const double>, const HeadTables<double>&,
                                         const RelativeBuckets&, const Matrix<std::uint8_t>*, double,
                                         HeadBuffers<double>&, Matrix<double>&);
template void head_context<double>(const Matrix<double>&, HeadRows<const double>, HeadRows<double>);
template void head_backward<double>(const HeadBackward<double>&, const HeadTables<double>&, HeadBuffers<double>&,
                                    HeadRows<double>, HeadRows<double>, HeadRows<double>, HeadRows<double>,
                                    HeadRows<double>, Matrix<double>&);

}  // namespace locus

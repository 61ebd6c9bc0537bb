#include "core/attention/disentangled.h"

#include <cmath>

namespace locus {

// Forward: eq. 4, term by term.
//
// A position term is two steps, because the 2k rows of a relative table serve all Tq x Tk pairs: first the product of
// every token with every row, then for each pair the one product that its offset selects (torch.gather in the official
// code).  Computing q_i . k_r[delta(i,j)] pair by pair would give the same bits, for Tk / 2k times the products.
//
// No term is scaled here: a trace shows them raw, as ports print them, and what divides their sum depends on how many
// there are (score_divisor).

template <class Scalar>
Matrix<Scalar> content_to_content(const ConstView<Scalar>& q, const ConstView<Scalar>& k) {
    // What the query's word asks of the key's word, wherever the two stand: attention without positions.
    return products_of_rows<Scalar>(q, k);
}

template <class Scalar>
Matrix<Scalar> content_to_position(const ConstView<Scalar>& q, const ConstView<Scalar>& k_r,
                                   const RelativeBuckets& buckets) {
    check_shape("content_to_position", "q", q, buckets.queries(), q.cols());
    check_shape("content_to_position", "k_r", k_r, 2 * buckets.span(), q.cols());
    // What the query's word asks of each relative position: table[i,r] = q_i . k_r[r], [Tq,2k].
    const Matrix<Scalar> table = products_of_rows<Scalar>(q, k_r);
    // Seen from query i, key j stands at the relative position delta(i,j).  All pairs of one offset i - j read the same
    // row, and beyond the span all offsets of one side do.
    Matrix<Scalar> c2p(buckets.queries(), buckets.keys());
    for (Index i = 0; i < c2p.rows(); ++i)
        for (Index j = 0; j < c2p.cols(); ++j) c2p(i, j) = table(i, buckets.row(i, j));
    return c2p;
}

template <class Scalar>
Matrix<Scalar> position_to_content(const ConstView<Scalar>& k, const ConstView<Scalar>& q_r,
                                   const RelativeBuckets& buckets, P2cIndex index) {
    // delta(j,i) takes the buckets with queries and keys exchanged.
    check_shape("position_to_content", "k", k, index == P2cIndex::paper_ji ? buckets.queries() : buckets.keys(),
                k.cols());
    check_shape("position_to_content", "q_r", q_r, 2 * buckets.span(), k.cols());
    // As printed, key j asks with its own offset j - i: then p2c is the c2p of k and q_r with the two tokens exchanged.
    if (index == P2cIndex::paper_ji) return content_to_position<Scalar>(k, q_r, buckets).transpose();

    // What each relative position asks of the key's word: table[j,r] = k_j . q_r[r], [Tk,2k].  Its rows belong to keys.
    const Matrix<Scalar> table = products_of_rows<Scalar>(k, q_r);
    // The row is delta(i,j), the query's offset, although the table belongs to the key: this is how every released
    // model was trained, and it differs from delta(j,i) of the paper in the sign of the offset.
    Matrix<Scalar> p2c(buckets.queries(), buckets.keys());
    for (Index i = 0; i < p2c.rows(); ++i)
        for (Index j = 0; j < p2c.cols(); ++j) p2c(i, j) = table(j, buckets.row(i, j));
    return p2c;
}

template <class Scalar>
Matrix<Scalar> position_to_position(const ConstView<Scalar>& q_r, const ConstView<Scalar>& k_r,
                                    const RelativeBuckets& buckets) {
    check_shape("position_to_position", "q_r", q_r, 2 * buckets.span(), q_r.cols());
    check_shape("position_to_position", "k_r", k_r, 2 * buckets.span(), q_r.cols());
    LOCUS_CHECK(buckets.queries() == buckets.keys(),
                "position_to_position: buckets of " + std::to_string(buckets.queries()) + " x " +
                    std::to_string(buckets.keys()) + " pairs, expected as many keys as queries");
    // No word is in this term: it depends on i - j alone, which is why the paper leaves it out.
    const Matrix<Scalar> table = products_of_rows<Scalar>(q_r, k_r);
    Matrix<Scalar> p2p(buckets.queries(), buckets.keys());
    // Both rows are those of the pair, seen from either side.
    for (Index i = 0; i < p2p.rows(); ++i)
        for (Index j = 0; j < p2p.cols(); ++j) p2p(i, j) = table(buckets.row(j, i), buckets.row(i, j));
    return p2p;
}

template <class Scalar>
Scalar score_divisor(int terms, Index head_width) {
    // With channels of variance 1 that are uncorrelated, a product over d channels has variance d.  The n terms share
    // q_i or k_j and are uncorrelated all the same, so their sum has variance n d, and the softmax sees variance 1
    // whichever terms a model has.
    return std::sqrt(Scalar(terms) * Scalar(head_width));
}

// Backward: the chain rule on the lines above, from the last to the first.
//
// The gather of a position term becomes a scatter.  One cell of its table was read by all pairs whose offsets share the
// row, so its gradient is the sum of theirs; a row that no pair reads keeps exactly 0.

namespace {

// What the forward pass was given must fit together: a wrong shape here would be a wrong gradient later, not a crash.
constexpr const char* kDisentangledBackward = "disentangled_backward";

template <class Scalar>
void check_head(const DisentangledHead<Scalar>& head, const RelativeBuckets& buckets,
                const ConstView<Scalar>& d_context) {
    const Index queries = buckets.queries(), keys = buckets.keys(), width = head.q.cols();
    check_shape(kDisentangledBackward, "q", head.q, queries, width);
    check_shape(kDisentangledBackward, "k", head.k, keys, width);
    check_shape(kDisentangledBackward, "v", head.v, keys, head.v.cols());
    check_shape(kDisentangledBackward, "probs", head.probs, queries, keys);
    check_shape(kDisentangledBackward, "the gradient of the context", d_context, queries, head.v.cols());
    // An empty matrix says that there was none: no dropout, no c2p, no p2c.
    if (head.keep.size() > 0) check_shape(kDisentangledBackward, "keep", head.keep, queries, keys);
    if (head.k_r.size() > 0) check_shape(kDisentangledBackward, "k_r", head.k_r, 2 * buckets.span(), width);
    if (head.q_r.size() > 0) check_shape(kDisentangledBackward, "q_r", head.q_r, 2 * buckets.span(), width);
    LOCUS_CHECK(head.q_r.size() == 0 || head.p2c_index == P2cIndex::official_ij || queries == keys,
                std::string(kDisentangledBackward) + ": p2c by delta(j,i) of " + std::to_string(queries) +
                    " queries and " + std::to_string(keys) +
                    " keys, expected as many: the same buckets serve both terms");
}

}  // namespace

template <class Scalar>
DisentangledGradients<Scalar> disentangled_backward(const DisentangledHead<Scalar>& head,
                                                    const RelativeBuckets& buckets,
                                                    const ConstView<Scalar>& d_context) {
    check_head<Scalar>(head, buckets, d_context);
    const Index queries = buckets.queries(), keys = buckets.keys(), rows = 2 * buckets.span();
    DisentangledGradients<Scalar> grad;

    // From the context through dropout and softmax to the scores, and through the division to the sum of the terms.
    ContextGradients<Scalar> end = context_backward<Scalar>(head.probs, head.keep, head.v, d_context);
    grad.v = std::move(end.v);
    grad.scores = end.scores / head.divisor;

    // The terms were added, so each has the gradient of the sum.
    // c2c = q k^T: the gradient of a product is the gradient times the other factor.
    grad.q = times<Scalar>(grad.scores, head.k);
    grad.k = transposed_times<Scalar>(grad.scores, head.q);

    // c2p(i,j) = (q k_r^T)(i, delta(i,j)): d_table[i,r] collects the pairs of query i that read row r.
    if (head.k_r.size() > 0) {
        Matrix<Scalar> d_table = Matrix<Scalar>::Zero(queries, rows);
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j) d_table(i, buckets.row(i, j)) += grad.scores(i, j);
        // table = q k_r^T, again a product; q was in both terms, so its gradients add.
        grad.q += times<Scalar>(d_table, head.k_r);
        grad.k_r = transposed_times<Scalar>(d_table, head.q);
    }

    // p2c(i,j) = (k q_r^T)(j, delta(i,j) or, as printed, delta(j,i)): d_table[j,r] collects the pairs of key j.
    if (head.q_r.size() > 0) {
        const bool official = head.p2c_index == P2cIndex::official_ij;
        Matrix<Scalar> d_table = Matrix<Scalar>::Zero(keys, rows);
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j)
                d_table(j, official ? buckets.row(i, j) : buckets.row(j, i)) += grad.scores(i, j);
        // table = k q_r^T: the key's gradients of both terms add, and q_r sums over the keys.
        grad.k += times<Scalar>(d_table, head.q_r);
        grad.q_r = transposed_times<Scalar>(d_table, head.k);
    }
    return grad;
}

template <class Scalar>
PositionGradients<Scalar> position_to_position_backward(const ConstView<Scalar>& q_r, const ConstView<Scalar>& k_r,
                                                        const RelativeBuckets& buckets,
                                                        const ConstView<Scalar>& d_p2p) {
    constexpr const char* kFunction = "position_to_position_backward";
    const Index rows = 2 * buckets.span(), tokens = buckets.queries();
    LOCUS_CHECK(tokens == buckets.keys(), std::string(kFunction) + ": buckets of " + std::to_string(tokens) + " x " +
                                              std::to_string(buckets.keys()) +
                                              " pairs, expected as many keys as queries");
    check_shape(kFunction, "q_r", q_r, rows, q_r.cols());
    check_shape(kFunction, "k_r", k_r, rows, q_r.cols());
    check_shape(kFunction, "d_p2p", d_p2p, tokens, tokens);
    // p2p(i,j) = (q_r k_r^T)(delta(j,i), delta(i,j)): both indices are rows of tables.
    Matrix<Scalar> d_table = Matrix<Scalar>::Zero(rows, rows);
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j < tokens; ++j) d_table(buckets.row(j, i), buckets.row(i, j)) += d_p2p(i, j);
    return {times<Scalar>(d_table, k_r), transposed_times<Scalar>(d_table, q_r)};
}

// Explanation: one cell by scalar arithmetic, in the order of the functions above, so that the bits agree.
// Floating-point sums depend on their order: that order is part of what products_of_rows and masked_softmax promise.

namespace {

template <class Scalar>
void check_cell(const HeadTensors<Scalar>& head, const RelativeBuckets& buckets, P2cIndex p2c_index, Index i, Index j) {
    LOCUS_CHECK(head.q.rows() == buckets.queries() && head.k.rows() == buckets.keys(),
                "explain_cell: " + std::to_string(head.q.rows()) + " queries and " + std::to_string(head.k.rows()) +
                    " keys, expected " + std::to_string(buckets.queries()) + " and " + std::to_string(buckets.keys()) +
                    " as the buckets have");
    LOCUS_CHECK(i >= 0 && i < buckets.queries() && j >= 0 && j < buckets.keys(),
                "explain_cell: cell (" + std::to_string(i) + ", " + std::to_string(j) + ") lies outside " +
                    std::to_string(buckets.queries()) + " x " + std::to_string(buckets.keys()));
    // A model without a term has no table for it; one that is there has a row for every offset.
    for (const Matrix<Scalar>* table : {&head.k_r, &head.q_r})
        LOCUS_CHECK(table->size() == 0 || (table->rows() == 2 * buckets.span() && table->cols() == head.q.cols()),
                    "explain_cell: a table of [" + std::to_string(table->rows()) + ", " +
                        std::to_string(table->cols()) + "], expected [" + std::to_string(2 * buckets.span()) + ", " +
                        std::to_string(head.q.cols()) + "]");
    LOCUS_CHECK(head.q_r.size() == 0 || p2c_index == P2cIndex::official_ij || buckets.queries() == buckets.keys(),
                "explain_cell: p2c by delta(j,i) of " + std::to_string(buckets.queries()) + " queries and " +
                    std::to_string(buckets.keys()) + " keys, expected as many: the same buckets serve both terms");
}

/// The three terms of one cell and their scaled sum.
template <class Scalar>
CellExplanation<Scalar> explain_score(const HeadTensors<Scalar>& head, const RelativeBuckets& buckets,
                                      P2cIndex p2c_index, int divisor_terms, Index i, Index j, KeptTerms kept) {
    CellExplanation<Scalar> cell;
    cell.kept = kept;
    cell.i = i;
    cell.j = j;
    // The buckets of near offsets are the offsets themselves, far ones share a bucket; row 0 of a table serves -k.
    cell.offset = i - j;
    cell.bucket = buckets.row(i, j) - buckets.span();
    const auto term = [](const Matrix<Scalar>& left, Index m, const Matrix<Scalar>& right, Index n, Index row) {
        return explain_term<Scalar>(channels_of<Scalar>(left, m), channels_of<Scalar>(right, n), row);
    };
    // Terms are added in the order of the paper, c2c, c2p, p2c: another order could round to other bits.
    cell.c2c = term(head.q, i, head.k, j, -1);
    cell.sum = kept.c2c ? cell.c2c.value : Scalar(0);
    // A dropped term is explained all the same, so that a reader sees what an experiment left out.
    if (head.k_r.size() > 0) {
        const Index row = buckets.row(i, j);
        cell.c2p = term(head.q, i, head.k_r, row, row);
        if (kept.c2p) cell.sum += cell.c2p.value;
    }
    if (head.q_r.size() > 0) {
        // Here the key's vector is the left factor, and the row of the pair is the one that position_to_content reads.
        const Index row = p2c_index == P2cIndex::official_ij ? buckets.row(i, j) : buckets.row(j, i);
        cell.p2c = term(head.k, j, head.q_r, row, row);
        if (kept.p2c) cell.sum += cell.p2c.value;
    }
    // The division does not follow the dropped terms of an experiment: only their part of the sum is missing.
    cell.terms = divisor_terms;
    cell.divisor = score_divisor<Scalar>(divisor_terms, head.q.cols());
    cell.score = cell.sum / cell.divisor;
    return cell;
}

}  // namespace

template <class Scalar>
CellExplanation<Scalar> explain_cell(const HeadTensors<Scalar>& head, const RelativeBuckets& buckets,
                                     P2cIndex p2c_index, int divisor_terms, Index i, Index j, KeptTerms kept) {
    check_cell(head, buckets, p2c_index, i, j);
    const auto score_of = [&](Index key) {
        return explain_score<Scalar>(head, buckets, p2c_index, divisor_terms, i, key, kept);
    };
    CellExplanation<Scalar> cell = score_of(j);
    // A probability depends on the scores of its whole row, hidden keys left out.
    std::vector<Scalar> scores;
    for (Index key = 0; key < buckets.keys(); ++key) scores.push_back(score_of(key).score);
    static_cast<SoftmaxSteps<Scalar>&>(cell) = explain_softmax<Scalar>(scores, head.mask, i, j, head.masked_row);
    return cell;
}

template Matrix<float> content_to_content<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<double> content_to_content<double>(const ConstView<double>&, const ConstView<double>&);
template Matrix<float> content_to_position<float>(const ConstView<float>&, const ConstView<float>&,
                                                  const RelativeBuckets&);
template Matrix<double> content_to_position<double>(const ConstView<double>&, const ConstView<double>&,
                                                    const RelativeBuckets&);
template Matrix<float> position_to_content<float>(const ConstView<float>&, const ConstView<float>&,
                                                  const RelativeBuckets&, P2cIndex);
template Matrix<double> position_to_content<double>(const ConstView<double>&, const ConstView<double>&,
                                                    const RelativeBuckets&, P2cIndex);
template Matrix<float> position_to_position<float>(const ConstView<float>&, const ConstView<float>&,
                                                   const RelativeBuckets&);
template Matrix<double> position_to_position<double>(const ConstView<double>&, const ConstView<double>&,
                                                     const RelativeBuckets&);
template float score_divisor<float>(int, Index);
template double score_divisor<double>(int, Index);
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
template CellExplanation<float> explain_cell<float>(const HeadTensors<float>&, const RelativeBuckets&, P2cIndex, int,
                                                    Index, Index, KeptTerms);
template CellExplanation<double> explain_cell<double>(const HeadTensors<double>&, const RelativeBuckets&, P2cIndex, int,
                                                      Index, Index, KeptTerms);

}  // namespace locus

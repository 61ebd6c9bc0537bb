#include "core/attention/two_stream_backward.h"

#include "core/check_shape.h"

namespace locus {

namespace {

/// Segment of the token that each query stands at; unused queries, whose scores have no gradient, get 0.
std::vector<std::int64_t> query_ids(const std::vector<Index>& positions, Index queries, Index memory,
                                    const std::vector<std::int64_t>& key_ids) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(queries), 0);
    for (Index p = 0; p < queries; ++p) {
        const Index i = positions.empty() ? p : positions[static_cast<std::size_t>(p)];
        if (i < 0) continue;
        LOCUS_CHECK(memory + i < static_cast<Index>(key_ids.size()),
                    "two_stream_backward: a query at token " + std::to_string(i) + ", expected 0 to " +
                        std::to_string(static_cast<Index>(key_ids.size()) - memory - 1));
        ids[static_cast<std::size_t>(p)] = key_ids[static_cast<std::size_t>(memory + i)];
    }
    return ids;
}

}  // namespace

template <class Scalar>
SegmentGradients<Scalar> segment_term_backward(const ConstView<Scalar>& q, const RowVector<Scalar>& s,
                                               const ConstView<Scalar>& segments,
                                               const std::vector<std::int64_t>& query_ids,
                                               const std::vector<std::int64_t>& key_ids,
                                               const ConstView<Scalar>& d_ef) {
    check_shape("segment_term_backward", "segments", segments, 2, q.cols());
    check_shape("segment_term_backward", "s", s, 1, q.cols());
    check_shape("segment_term_backward", "d_ef", d_ef, q.rows(), static_cast<Index>(key_ids.size()));
    LOCUS_CHECK(static_cast<Index>(query_ids.size()) == q.rows(),
                "segment_term_backward: " + std::to_string(query_ids.size()) + " segment ids for " +
                    std::to_string(q.rows()) + " queries, expected one each");
    Matrix<Scalar> d_both = Matrix<Scalar>::Zero(q.rows(), 2);
    for (Index i = 0; i < d_ef.rows(); ++i)
        for (Index j = 0; j < d_ef.cols(); ++j)
            d_both(i, query_ids[static_cast<std::size_t>(i)] != key_ids[static_cast<std::size_t>(j)]) += d_ef(i, j);
    SegmentGradients<Scalar> grad;
    grad.q = d_both * segments;
    grad.bias = grad.q.colwise().sum();
    grad.segments = d_both.transpose() * (q.rowwise() + s);
    return grad;
}

template <class Scalar>
TwoStreamGradients<Scalar> two_stream_backward(const RelativeKeys<Scalar>& keys, const SegmentKeys<Scalar>& segments,
                                               const RelativeQueries<Scalar>& content_stream,
                                               const ConstView<Scalar>& d_context_h,
                                               const RelativeQueries<Scalar>& query_stream,
                                               const ConstView<Scalar>& d_context_g) {
    RelativeGradients<Scalar> h = relative_backward<Scalar>(keys, content_stream, d_context_h);
    RelativeGradients<Scalar> g = relative_backward<Scalar>(keys, query_stream, d_context_g);
    TwoStreamGradients<Scalar> grad{std::move(h.q),
                                    std::move(g.q),
                                    h.k + g.k,
                                    h.v + g.v,
                                    h.r_k + g.r_k,
                                    h.content_bias + g.content_bias,
                                    h.position_bias + g.position_bias,
                                    {},
                                    {}};
    if (segments.segments.size() == 0) return grad;

    LOCUS_CHECK(static_cast<Index>(segments.key_ids.size()) == keys.k.rows(),
                "two_stream_backward: " + std::to_string(segments.key_ids.size()) + " segment ids for " +
                    std::to_string(keys.k.rows()) + " keys, expected one each");
    const auto of_segments = [&](const RelativeQueries<Scalar>& stream, const Matrix<Scalar>& d_scores) {
        return segment_term_backward<Scalar>(
            stream.q, segments.bias, segments.segments,
            query_ids(stream.positions, stream.q.rows(), keys.memory, segments.key_ids), segments.key_ids, d_scores);
    };
    const SegmentGradients<Scalar> ef_h = of_segments(content_stream, h.scores);
    const SegmentGradients<Scalar> ef_g = of_segments(query_stream, g.scores);
    grad.content_q += ef_h.q;
    grad.query_q += ef_g.q;
    grad.segment_bias = ef_h.bias + ef_g.bias;
    grad.segments = ef_h.segments + ef_g.segments;
    return grad;
}

template SegmentGradients<float> segment_term_backward<float>(const ConstView<float>&, const RowVector<float>&,
                                                              const ConstView<float>&, const std::vector<std::int64_t>&,
                                                              const std::vector<std::int64_t>&,
                                                              const ConstView<float>&);
template SegmentGradients<double> segment_term_backward<double>(const ConstView<double>&, const RowVector<double>&,
                                                                const ConstView<double>&,
                                                                const std::vector<std::int64_t>&,
                                                                const std::vector<std::int64_t>&,
                                                                const ConstView<double>&);
template TwoStreamGradients<float> two_stream_backward<float>(const RelativeKeys<float>&, const SegmentKeys<float>&,
                                                              const RelativeQueries<float>&, const ConstView<float>&,
                                                              const RelativeQueries<float>&, const ConstView<float>&);
template TwoStreamGradients<double> two_stream_backward<double>(const RelativeKeys<double>&, const SegmentKeys<double>&,
                                                                const RelativeQueries<double>&,
                                                                const ConstView<double>&,
                                                                const RelativeQueries<double>&,
                                                                const ConstView<double>&);

}  // namespace locus

#include "core/attention/two_stream.h"

#include <algorithm>

#include "core/products.h"
#include "core/tensor.h"

namespace locus {

TwoStreamMasks two_stream_masks(Index queries, const TwoStreamHiding& hiding) {
    const Index memory = hiding.memory, keys = memory + queries;
    LOCUS_CHECK(hiding.permutation.size() == 0 ||
                    (hiding.permutation.rows() == queries && hiding.permutation.cols() == queries),
                "perm_mask is [" + std::to_string(hiding.permutation.rows()) + ", " +
                    std::to_string(hiding.permutation.cols()) + "], expected [" + std::to_string(queries) + ", " +
                    std::to_string(queries) + "]: one row and one column per token");
    LOCUS_CHECK(hiding.padding.empty() || static_cast<Index>(hiding.padding.size()) == queries,
                "input_mask has " + std::to_string(hiding.padding.size()) + " entries, expected " +
                    std::to_string(queries) + ", one per token");
    const bool causal = hiding.direction == Direction::unidirectional;
    TwoStreamMasks masks{Mask(queries, keys), Mask(queries, keys)};
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) {
            const Index token = j - memory;  // negative: memory
            // Direction is a matter of places, so it holds for the memory too; there no key stands right of a query,
            // and with same_length every query gives up one old key for each one that it has gained.
            bool hidden = causal && token > i;
            hidden = hidden || (causal && hiding.same_length && j < i);
            // The order of prediction and the padding are known of this segment alone: memory was predicted before.
            if (token >= 0) {
                hidden = hidden || (hiding.permutation.size() > 0 && hiding.permutation(i, token) != 0);
                hidden = hidden || (!hiding.padding.empty() && hiding.padding[static_cast<std::size_t>(token)]);
            }
            // The two streams differ in the diagonal alone.  h encodes a word that is there, so it sees itself whatever
            // the order; g predicts the word, so it must not, and perm_mask has to hide it.
            masks.query(i, j) = !hidden;
            masks.content(i, j) = !hidden || token == i;
        }
    return masks;
}

template <class Scalar>
Matrix<Scalar> segment_term(const ConstView<Scalar>& q, const RowVector<Scalar>& s, const ConstView<Scalar>& segments,
                            const std::vector<std::int64_t>& query_ids, const std::vector<std::int64_t>& key_ids) {
    LOCUS_CHECK(segments.rows() == 2 && segments.cols() == q.cols() && s.size() == q.cols(),
                "segment_term: the table is [" + std::to_string(segments.rows()) + ", " +
                    std::to_string(segments.cols()) + "] and s has " + std::to_string(s.size()) +
                    " channels, expected [2, " + std::to_string(q.cols()) + "] and " + std::to_string(q.cols()));
    LOCUS_CHECK(static_cast<Index>(query_ids.size()) == q.rows(), "segment_term: " + std::to_string(query_ids.size()) +
                                                                      " segment ids for " + std::to_string(q.rows()) +
                                                                      " queries, expected one each");
    // s stands beside q as u and v do in the other two terms: what any query asks, whatever its word is.
    const Matrix<Scalar> biased = q.rowwise() + s;
    // Only two segment rows exist: every query against both once, and each key selects one of the two products.
    const Matrix<Scalar> both = products_of_rows<Scalar>(biased, segments);  // [T,2]: same, different
    Matrix<Scalar> ef(q.rows(), static_cast<Index>(key_ids.size()));
    for (Index i = 0; i < ef.rows(); ++i)
        for (Index j = 0; j < ef.cols(); ++j)
            ef(i, j) = both(i, query_ids[static_cast<std::size_t>(i)] != key_ids[static_cast<std::size_t>(j)]);
    return ef;
}

std::vector<Index> target_positions(const ConstView<double>& mapping) {
    std::vector<Index> positions;
    for (Index p = 0; p < mapping.rows(); ++p) {
        Index position = -1;  // as it stays for a row of zeros, which pads a batch with fewer targets
        for (Index t = 0; t < mapping.cols(); ++t) {
            LOCUS_CHECK(mapping(p, t) == 0 || mapping(p, t) == 1,
                        "target_mapping holds " + std::to_string(mapping(p, t)) + ", expected 0 or 1");
            if (mapping(p, t) == 0) continue;
            LOCUS_CHECK(position < 0, "target_mapping: row " + std::to_string(p) + " has ones at " +
                                          std::to_string(position) + " and " + std::to_string(t) +
                                          ", expected at most one: a row predicts one token");
            LOCUS_CHECK(std::find(positions.begin(), positions.end(), t) == positions.end(),
                        "target_mapping: two rows have their one at " + std::to_string(t) +
                            ", expected a token to be predicted once: XLNet would add both queries");
            position = t;
        }
        positions.push_back(position);
    }
    return positions;
}

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
    // The two products of a query were read by all keys of the same, or of another, segment.
    Matrix<Scalar> d_both = Matrix<Scalar>::Zero(q.rows(), 2);
    for (Index i = 0; i < d_ef.rows(); ++i)
        for (Index j = 0; j < d_ef.cols(); ++j)
            d_both(i, query_ids[static_cast<std::size_t>(i)] != key_ids[static_cast<std::size_t>(j)]) += d_ef(i, j);
    // both = (q + s) segments^T is a product; s was added to every query, so it gets the sum over the queries.
    SegmentGradients<Scalar> grad;
    grad.q = times<Scalar>(d_both, segments);
    grad.bias = grad.q.colwise().sum();
    grad.segments = transposed_times<Scalar>(d_both, q.rowwise() + s);
    return grad;
}

template <class Scalar>
TwoStreamGradients<Scalar> two_stream_backward(const RelativeKeys<Scalar>& keys, const SegmentKeys<Scalar>& segments,
                                               const RelativeQueries<Scalar>& content_stream,
                                               const ConstView<Scalar>& d_context_h,
                                               const RelativeQueries<Scalar>& query_stream,
                                               const ConstView<Scalar>& d_context_g) {
    // Each stream is relative attention with queries of its own.  Keys, values, positions and biases are one set that
    // both read, so their gradients add; the queries' do not.
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
    // The segment term is added to the others before the division, so the gradient of the scores is its own too.
    const SegmentGradients<Scalar> ef_h = of_segments(content_stream, h.scores);
    const SegmentGradients<Scalar> ef_g = of_segments(query_stream, g.scores);
    grad.content_q += ef_h.q;
    grad.query_q += ef_g.q;
    grad.segment_bias = ef_h.bias + ef_g.bias;
    grad.segments = ef_h.segments + ef_g.segments;
    return grad;
}

HiddenBy hidden_by(Index queries, const TwoStreamHiding& hiding, Stream stream, Index position, Index key) {
    const Index token = key - hiding.memory;
    LOCUS_CHECK(position >= 0 && position < queries && key >= 0 && token < queries,
                "hidden_by: (" + std::to_string(position) + ", " + std::to_string(key) + ") lies outside [" +
                    std::to_string(queries) + ", " + std::to_string(hiding.memory + queries) + "]");
    // The same questions as in two_stream_masks, in the order in which a reader would name a reason: that a key is no
    // word says more than that it also stands to the right.
    const bool own = token == position;
    if (own && stream == Stream::content) return HiddenBy::nothing;
    if (token >= 0 && !hiding.padding.empty() && hiding.padding[static_cast<std::size_t>(token)])
        return HiddenBy::padding;
    if (token >= 0 && hiding.permutation.size() > 0 && hiding.permutation(position, token) != 0)
        return own ? HiddenBy::itself : HiddenBy::permutation;
    if (hiding.direction == Direction::bidirectional) return HiddenBy::nothing;
    if (token > position) return HiddenBy::later;
    return hiding.same_length && key < position ? HiddenBy::too_old : HiddenBy::nothing;
}

const char* reason_of(HiddenBy hidden) {
    switch (hidden) {
        case HiddenBy::padding:
            return "it is padding, no word";
        case HiddenBy::itself:
            return "it is the very word to be predicted; to see it would be to copy it";
        case HiddenBy::permutation:
            return "it is predicted later";
        case HiddenBy::later:
            return "it stands right of the query, and this model reads from left to right";
        case HiddenBy::too_old:
            return "it is too far back for this query: same_length lets every query see as many keys";
        case HiddenBy::nothing:
            break;
    }
    return "";
}

template Matrix<float> segment_term<float>(const ConstView<float>&, const RowVector<float>&, const ConstView<float>&,
                                           const std::vector<std::int64_t>&, const std::vector<std::int64_t>&);
template Matrix<double> segment_term<double>(const ConstView<double>&, const RowVector<double>&,
                                             const ConstView<double>&, const std::vector<std::int64_t>&,
                                             const std::vector<std::int64_t>&);
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

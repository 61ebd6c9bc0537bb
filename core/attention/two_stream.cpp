#include "core/attention/two_stream.h"

#include "core/attention/products.h"

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
            bool hidden = causal && token > i;
            hidden = hidden || (causal && hiding.same_length && j < i);
            if (token >= 0) {
                hidden = hidden || (hiding.permutation.size() > 0 && hiding.permutation(i, token) != 0);
                hidden = hidden || (!hiding.padding.empty() && hiding.padding[static_cast<std::size_t>(token)]);
            }
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
                    std::to_string(segments.cols()) + "], expected [2, " + std::to_string(q.cols()) + "]");
    LOCUS_CHECK(static_cast<Index>(query_ids.size()) == q.rows(), "segment_term: one segment id per query expected");
    const Matrix<Scalar> biased = q.rowwise() + s;
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
        Index position = -1;
        for (Index t = 0; t < mapping.cols(); ++t) {
            LOCUS_CHECK(mapping(p, t) == 0 || mapping(p, t) == 1,
                        "target_mapping holds " + std::to_string(mapping(p, t)) + ", expected 0 or 1");
            if (mapping(p, t) == 0) continue;
            LOCUS_CHECK(position < 0, "target_mapping: row " + std::to_string(p) + " has ones at " +
                                          std::to_string(position) + " and " + std::to_string(t) +
                                          ", expected at most one: a row predicts one token");
            position = t;
        }
        positions.push_back(position);
    }
    return positions;
}

template Matrix<float> segment_term<float>(const ConstView<float>&, const RowVector<float>&, const ConstView<float>&,
                                           const std::vector<std::int64_t>&, const std::vector<std::int64_t>&);
template Matrix<double> segment_term<double>(const ConstView<double>&, const RowVector<double>&,
                                             const ConstView<double>&, const std::vector<std::int64_t>&,
                                             const std::vector<std::int64_t>&);

}  // namespace locus

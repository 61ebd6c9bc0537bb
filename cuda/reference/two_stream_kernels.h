#pragma once
// The segment term of XLNet, one thread a pair.
#include <cstdint>
#include <vector>

#include "cuda/reference/backend.h"

namespace locus::cuda {

/// segments [2,d], row 0 same, row 1 another.
template <class Scalar>
struct SegmentCell {
    const Scalar *q, *s, *segments;
    const int *query_ids, *key_ids;
    int keys, channels;
    Scalar* ef;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const Scalar* q_i = q + row_start(cell.i, channels);
        const Scalar* segment = segments + (query_ids[cell.i] != key_ids[cell.j] ? channels : 0);
        Scalar sum = 0;
        for (int c = 0; c < channels; ++c) sum += (q_i[c] + s[c]) * segment[c];
        ef[n] = sum;
    }
};

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> segment_term(const Place& place, const Matrix<Scalar>& q, const RowVector<Scalar>& s,
                            const Matrix<Scalar>& segments, const std::vector<std::int64_t>& query_ids,
                            const std::vector<std::int64_t>& key_ids) {
    check_rows("segment_term", segments.rows(), 2);
    check_width("segment_term", segments.cols(), q.cols());
    check_width("segment_term", s.size(), q.cols());
    check_rows("segment_term", static_cast<Index>(query_ids.size()), q.rows());
    const auto keys = static_cast<Index>(key_ids.size());
    const auto there_q = upload(place, q), there_segments = upload(place, segments);
    const auto there_s = upload(place, s);
    const auto there_queries = upload_as_int(place, query_ids), there_keys = upload_as_int(place, key_ids);
    auto ef = room<Scalar>(place, q.rows(), keys);
    place.each(q.rows() * keys,
               SegmentCell<Scalar>{there_q.data(), there_s.data(), there_segments.data(), there_queries.data(),
                                   there_keys.data(), narrow(keys), narrow(q.cols()), ef.data()});
    return download(place, ef, q.rows(), keys);
}

}  // namespace twin

}  // namespace locus::cuda

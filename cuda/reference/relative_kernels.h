#pragma once
// The terms of Transformer-XL by direct indexing, with no shift trick: every pair reads the row of its own distance.
#include <cstdint>
#include <vector>

#include "core/attention/relative.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

/// (q_i + u) . k_j, the sum in brackets rounded once: content and position term.
template <class Scalar>
struct BiasedProductKernel {
    const Scalar *q, *u, *k;
    int keys, channels;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const Scalar *q_i = q + row_start(cell.i, channels), *k_j = k + row_start(cell.j, channels);
        Scalar sum = 0;
        for (int c = 0; c < channels; ++c) sum += (q_i[c] + u[c]) * k_j[c];
        scores[n] = sum;
    }
};

/// positions[p]: the token of query p, -1: not used.  bd_raw [P, columns] -> [P, keys].
template <class Scalar>
struct ShiftKernel {
    const Scalar* bd_raw;
    const int* positions;
    int columns, keys, first, memory;
    Scalar* bd;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const int i = positions[cell.i], column = i < 0 ? -1 : shift_column(first, memory, i, cell.j);
        bd[n] = column < 0 || column >= columns ? Scalar(0) : bd_raw[row_start(cell.i, columns) + column];
    }
};

/// (a) to (d) of one pair.
template <class Scalar>
struct RelativeTermsKernel {
    const Scalar *q, *k, *r_k, *u, *v;
    int keys, rows, channels, first, memory;
    Scalar *a, *b, *c, *d;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const Scalar *q_i = q + row_start(cell.i, channels), *k_j = k + row_start(cell.j, channels);
        a[n] = dot(q_i, k_j, channels);
        c[n] = dot(u, k_j, channels);
        const int row = shift_column(first, memory, cell.i, cell.j);
        const bool has_row = row >= 0 && row < rows;
        b[n] = has_row ? dot(q_i, r_k + row_start(row, channels), channels) : Scalar(0);
        d[n] = has_row ? dot(v, r_k + row_start(row, channels), channels) : Scalar(0);
    }
};

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> biased_products(const Backend& backend, const char* who, const Matrix<Scalar>& q,
                               const RowVector<Scalar>& u, const Matrix<Scalar>& k) {
    check_width(who, q.cols(), k.cols());
    check_width(who, q.cols(), u.size());
    const auto there_q = upload(backend, q), there_k = upload(backend, k);
    const auto there_u = upload(backend, u);
    auto scores = allocate<Scalar>(backend, q.rows(), k.rows());
    backend.parallel_for(q.rows() * k.rows(),
                         BiasedProductKernel<Scalar>{there_q.data(), there_u.data(), there_k.data(), narrow(k.rows()),
                                                     narrow(q.cols()), scores.data()});
    return download(backend, scores, q.rows(), k.rows());
}

template <class Backend, class Scalar>
Matrix<Scalar> content_term(const Backend& backend, const Matrix<Scalar>& q, const RowVector<Scalar>& u,
                            const Matrix<Scalar>& k) {
    return biased_products(backend, "content_term", q, u, k);
}

template <class Backend, class Scalar>
Matrix<Scalar> position_term(const Backend& backend, const Matrix<Scalar>& q, const RowVector<Scalar>& v,
                             const Matrix<Scalar>& r_k) {
    return biased_products(backend, "position_term", q, v, r_k);
}

template <class Backend, class Scalar>
Matrix<Scalar> shift_by_index(const Backend& backend, const Matrix<Scalar>& bd_raw, Index keys, Index first,
                              Index memory, const std::vector<Index>& positions) {
    check_rows("shift_by_index", static_cast<Index>(positions.size()), bd_raw.rows());
    const auto there = upload(backend, bd_raw);
    const auto there_positions = upload_as_int(backend, positions);
    auto bd = allocate<Scalar>(backend, bd_raw.rows(), keys);
    backend.parallel_for(bd_raw.rows() * keys,
                         ShiftKernel<Scalar>{there.data(), there_positions.data(), narrow(bd_raw.cols()), narrow(keys),
                                             narrow(first), narrow(memory), bd.data()});
    return download(backend, bd, bd_raw.rows(), keys);
}

template <class Backend, class Scalar>
RelativeTerms<Scalar> relative_terms(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                     const Matrix<Scalar>& r_k, const RowVector<Scalar>& u, const RowVector<Scalar>& v,
                                     Index first) {
    for (const Index width : {k.cols(), r_k.cols(), u.size(), v.size()}) check_width("relative_terms", q.cols(), width);
    LOCUS_CHECK(k.rows() >= q.rows(), "cuda::relative_terms: " + std::to_string(k.rows()) + " keys for " +
                                          std::to_string(q.rows()) + " queries, expected at least as many");
    const auto there_q = upload(backend, q), there_k = upload(backend, k), there_r_k = upload(backend, r_k);
    const auto there_u = upload(backend, u), there_v = upload(backend, v);
    auto a = allocate<Scalar>(backend, q.rows(), k.rows()), b = allocate<Scalar>(backend, q.rows(), k.rows());
    auto c = allocate<Scalar>(backend, q.rows(), k.rows()), d = allocate<Scalar>(backend, q.rows(), k.rows());
    backend.parallel_for(
        q.rows() * k.rows(),
        RelativeTermsKernel<Scalar>{there_q.data(), there_k.data(), there_r_k.data(), there_u.data(), there_v.data(),
                                    narrow(k.rows()), narrow(r_k.rows()), narrow(q.cols()), narrow(first),
                                    narrow(k.rows() - q.rows()), a.data(), b.data(), c.data(), d.data()});
    const auto back = [&](const auto& buffer) { return download(backend, buffer, q.rows(), k.rows()); };
    return {back(a), back(b), back(c), back(d)};
}

}  // namespace reference

// The segment term of XLNet, one thread a pair.

/// segments [2,d], row 0 same, row 1 another.
template <class Scalar>
struct SegmentKernel {
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

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> segment_term(const Backend& backend, const Matrix<Scalar>& q, const RowVector<Scalar>& s,
                            const Matrix<Scalar>& segments, const std::vector<std::int64_t>& query_ids,
                            const std::vector<std::int64_t>& key_ids) {
    check_rows("segment_term", segments.rows(), 2);
    check_width("segment_term", segments.cols(), q.cols());
    check_width("segment_term", s.size(), q.cols());
    check_rows("segment_term", static_cast<Index>(query_ids.size()), q.rows());
    const auto keys = static_cast<Index>(key_ids.size());
    const auto there_q = upload(backend, q), there_segments = upload(backend, segments);
    const auto there_s = upload(backend, s);
    const auto there_queries = upload_as_int(backend, query_ids), there_keys = upload_as_int(backend, key_ids);
    auto ef = allocate<Scalar>(backend, q.rows(), keys);
    backend.parallel_for(q.rows() * keys, SegmentKernel<Scalar>{there_q.data(), there_s.data(), there_segments.data(),
                                                                there_queries.data(), there_keys.data(), narrow(keys),
                                                                narrow(q.cols()), ef.data()});
    return download(backend, ef, q.rows(), keys);
}

}  // namespace reference

}  // namespace locus::cuda

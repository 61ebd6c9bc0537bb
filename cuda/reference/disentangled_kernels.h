#pragma once
// One thread an element, one loop over the channels: as readable as the CPU, and summed in the same order.  The fast
// kernels are measured against these.
#include "core/attention/disentangled.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

template <class Scalar>
struct ContentToContentKernel {
    const Scalar *q, *k;
    int keys, channels;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        scores[n] = dot(q + row_start(cell.i, channels), k + row_start(cell.j, channels), channels);
    }
};

/// rows: those of RelativeBuckets, offset -(keys - 1) first.
template <class Scalar>
struct ContentToPositionKernel {
    const Scalar *q, *k_r;
    const int* rows;
    int keys, channels;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const int row = rows[bucket_index(cell.i, cell.j, keys)];
        scores[n] = dot(q + row_start(cell.i, channels), k_r + row_start(row, channels), channels);
    }
};

/// by_key: the row is that of the pair (j, i), as the paper prints it; the buckets then have queries and keys
/// exchanged.
template <class Scalar>
struct PositionToContentKernel {
    const Scalar *k, *q_r;
    const int* rows;
    int queries, keys, channels;
    bool by_key;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const int row = by_key ? rows[bucket_index(cell.j, cell.i, queries)] : rows[bucket_index(cell.i, cell.j, keys)];
        scores[n] = dot(k + row_start(cell.j, channels), q_r + row_start(row, channels), channels);
    }
};

/// Square buckets, so that the pair (j, i) has its row in them too.
template <class Scalar>
struct PositionToPositionKernel {
    const Scalar *q_r, *k_r;
    const int* rows;
    int keys, channels;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const int q_row = rows[bucket_index(cell.j, cell.i, keys)], k_row = rows[bucket_index(cell.i, cell.j, keys)];
        scores[n] = dot(q_r + row_start(q_row, channels), k_r + row_start(k_row, channels), channels);
    }
};

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> content_to_content(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k) {
    check_width("content_to_content", q.cols(), k.cols());
    const auto there_q = upload(backend, q), there_k = upload(backend, k);
    auto scores = allocate<Scalar>(backend, q.rows(), k.rows());
    backend.parallel_for(q.rows() * k.rows(),
                         ContentToContentKernel<Scalar>{there_q.data(), there_k.data(), narrow(k.rows()),
                                                        narrow(q.cols()), scores.data()});
    return download(backend, scores, q.rows(), k.rows());
}

template <class Backend, class Scalar>
Matrix<Scalar> content_to_position(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k_r,
                                   const RelativeBuckets& buckets) {
    check_width("content_to_position", q.cols(), k_r.cols());
    check_rows("content_to_position", q.rows(), buckets.queries());
    check_rows("content_to_position", k_r.rows(), 2 * buckets.span());
    const auto there_q = upload(backend, q), there_k_r = upload(backend, k_r);
    const auto rows = upload_as_int(backend, buckets.rows());
    auto scores = allocate<Scalar>(backend, buckets.queries(), buckets.keys());
    backend.parallel_for(buckets.queries() * buckets.keys(),
                         ContentToPositionKernel<Scalar>{there_q.data(), there_k_r.data(), rows.data(),
                                                         narrow(buckets.keys()), narrow(q.cols()), scores.data()});
    return download(backend, scores, buckets.queries(), buckets.keys());
}

template <class Backend, class Scalar>
Matrix<Scalar> position_to_content(const Backend& backend, const Matrix<Scalar>& k, const Matrix<Scalar>& q_r,
                                   const RelativeBuckets& buckets, P2cIndex index) {
    const bool by_key = index == P2cIndex::paper_ji;
    const Index queries = by_key ? buckets.keys() : buckets.queries(),
                keys = by_key ? buckets.queries() : buckets.keys();
    check_width("position_to_content", k.cols(), q_r.cols());
    check_rows("position_to_content", k.rows(), keys);
    check_rows("position_to_content", q_r.rows(), 2 * buckets.span());
    const auto there_k = upload(backend, k), there_q_r = upload(backend, q_r);
    const auto rows = upload_as_int(backend, buckets.rows());
    auto scores = allocate<Scalar>(backend, queries, keys);
    backend.parallel_for(queries * keys,
                         PositionToContentKernel<Scalar>{there_k.data(), there_q_r.data(), rows.data(), narrow(queries),
                                                         narrow(keys), narrow(k.cols()), by_key, scores.data()});
    return download(backend, scores, queries, keys);
}

template <class Backend, class Scalar>
Matrix<Scalar> position_to_position(const Backend& backend, const Matrix<Scalar>& q_r, const Matrix<Scalar>& k_r,
                                    const RelativeBuckets& buckets) {
    check_width("position_to_position", q_r.cols(), k_r.cols());
    check_rows("position_to_position", q_r.rows(), 2 * buckets.span());
    check_rows("position_to_position", k_r.rows(), 2 * buckets.span());
    LOCUS_CHECK(buckets.queries() == buckets.keys(), "cuda::position_to_position: buckets of " +
                                                         std::to_string(buckets.queries()) + " x " +
                                                         std::to_string(buckets.keys()) + " pairs, expected a square");
    const auto there_q_r = upload(backend, q_r), there_k_r = upload(backend, k_r);
    const auto rows = upload_as_int(backend, buckets.rows());
    auto scores = allocate<Scalar>(backend, buckets.queries(), buckets.keys());
    backend.parallel_for(buckets.queries() * buckets.keys(),
                         PositionToPositionKernel<Scalar>{there_q_r.data(), there_k_r.data(), rows.data(),
                                                          narrow(buckets.keys()), narrow(q_r.cols()), scores.data()});
    return download(backend, scores, buckets.queries(), buckets.keys());
}

}  // namespace reference

}  // namespace locus::cuda

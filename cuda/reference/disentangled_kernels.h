#pragma once
// One thread a cell, one loop over the channels: as readable as the CPU, and summed in the same order.  The fast
// kernels are measured against these.
#include "core/attention/disentangled.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

template <class Scalar>
struct ContentToContentCell {
    const Scalar *q, *k;
    int keys, channels;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        scores[n] = dot(q + row_start(cell.i, channels), k + row_start(cell.j, channels), channels);
    }
};

/// rows: the bucket line, offset -(keys - 1) first.
template <class Scalar>
struct ContentToPositionCell {
    const Scalar *q, *k_r;
    const int* rows;
    int keys, channels;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const int row = rows[line_place(cell.i, cell.j, keys)];
        scores[n] = dot(q + row_start(cell.i, channels), k_r + row_start(row, channels), channels);
    }
};

/// by_key: the line is that of the pairs (j, i), as the paper prints it, and has one place per key and query turned.
template <class Scalar>
struct PositionToContentCell {
    const Scalar *k, *q_r;
    const int* rows;
    int queries, keys, channels;
    bool by_key;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const int row = by_key ? rows[line_place(cell.j, cell.i, queries)] : rows[line_place(cell.i, cell.j, keys)];
        scores[n] = dot(k + row_start(cell.j, channels), q_r + row_start(row, channels), channels);
    }
};

/// A square line, so that the pair (j, i) has its place in it too.
template <class Scalar>
struct PositionToPositionCell {
    const Scalar *q_r, *k_r;
    const int* rows;
    int keys, channels;
    Scalar* scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        const int q_row = rows[line_place(cell.j, cell.i, keys)], k_row = rows[line_place(cell.i, cell.j, keys)];
        scores[n] = dot(q_r + row_start(q_row, channels), k_r + row_start(k_row, channels), channels);
    }
};

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> content_to_content(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k) {
    check_width("content_to_content", q.cols(), k.cols());
    const auto there_q = upload(place, q), there_k = upload(place, k);
    auto scores = room<Scalar>(place, q.rows(), k.rows());
    place.each(q.rows() * k.rows(), ContentToContentCell<Scalar>{there_q.data(), there_k.data(), narrow(k.rows()),
                                                                 narrow(q.cols()), scores.data()});
    return download(place, scores, q.rows(), k.rows());
}

template <class Place, class Scalar>
Matrix<Scalar> content_to_position(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k_r,
                                   const RelativeBuckets& line) {
    check_width("content_to_position", q.cols(), k_r.cols());
    check_rows("content_to_position", q.rows(), line.queries());
    check_rows("content_to_position", k_r.rows(), 2 * line.span());
    const auto there_q = upload(place, q), there_k_r = upload(place, k_r);
    const auto rows = upload_as_int(place, line.rows());
    auto scores = room<Scalar>(place, line.queries(), line.keys());
    place.each(line.queries() * line.keys(),
               ContentToPositionCell<Scalar>{there_q.data(), there_k_r.data(), rows.data(), narrow(line.keys()),
                                             narrow(q.cols()), scores.data()});
    return download(place, scores, line.queries(), line.keys());
}

template <class Place, class Scalar>
Matrix<Scalar> position_to_content(const Place& place, const Matrix<Scalar>& k, const Matrix<Scalar>& q_r,
                                   const RelativeBuckets& line, P2cIndex index) {
    const bool by_key = index == P2cIndex::paper_ji;
    const Index queries = by_key ? line.keys() : line.queries(), keys = by_key ? line.queries() : line.keys();
    check_width("position_to_content", k.cols(), q_r.cols());
    check_rows("position_to_content", k.rows(), keys);
    check_rows("position_to_content", q_r.rows(), 2 * line.span());
    const auto there_k = upload(place, k), there_q_r = upload(place, q_r);
    const auto rows = upload_as_int(place, line.rows());
    auto scores = room<Scalar>(place, queries, keys);
    place.each(queries * keys,
               PositionToContentCell<Scalar>{there_k.data(), there_q_r.data(), rows.data(), narrow(queries),
                                             narrow(keys), narrow(k.cols()), by_key, scores.data()});
    return download(place, scores, queries, keys);
}

template <class Place, class Scalar>
Matrix<Scalar> position_to_position(const Place& place, const Matrix<Scalar>& q_r, const Matrix<Scalar>& k_r,
                                    const RelativeBuckets& line) {
    check_width("position_to_position", q_r.cols(), k_r.cols());
    check_rows("position_to_position", q_r.rows(), 2 * line.span());
    check_rows("position_to_position", k_r.rows(), 2 * line.span());
    LOCUS_CHECK(line.queries() == line.keys(), "cuda::position_to_position: a line of " +
                                                   std::to_string(line.queries()) + " x " +
                                                   std::to_string(line.keys()) + " pairs, expected a square");
    const auto there_q_r = upload(place, q_r), there_k_r = upload(place, k_r);
    const auto rows = upload_as_int(place, line.rows());
    auto scores = room<Scalar>(place, line.queries(), line.keys());
    place.each(line.queries() * line.keys(),
               PositionToPositionCell<Scalar>{there_q_r.data(), there_k_r.data(), rows.data(), narrow(line.keys()),
                                              narrow(q_r.cols()), scores.data()});
    return download(place, scores, line.queries(), line.keys());
}

}  // namespace twin

}  // namespace locus::cuda

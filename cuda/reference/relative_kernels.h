#pragma once
// The terms of Transformer-XL by direct indexing, with no shift trick: every pair reads the row of its own distance.
#include "core/attention/relative.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

/// (q_i + u) . k_j, the sum in brackets rounded once: content and position term.
template <class Scalar>
struct BiasedProductCell {
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
struct ShiftCell {
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
struct RelativeTermsCell {
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

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> biased_products(const Place& place, const char* who, const Matrix<Scalar>& q, const RowVector<Scalar>& u,
                               const Matrix<Scalar>& k) {
    check_width(who, q.cols(), k.cols());
    check_width(who, q.cols(), u.size());
    const auto there_q = upload(place, q), there_k = upload(place, k);
    const auto there_u = upload(place, u);
    auto scores = room<Scalar>(place, q.rows(), k.rows());
    place.each(q.rows() * k.rows(), BiasedProductCell<Scalar>{there_q.data(), there_u.data(), there_k.data(),
                                                              narrow(k.rows()), narrow(q.cols()), scores.data()});
    return download(place, scores, q.rows(), k.rows());
}

template <class Place, class Scalar>
Matrix<Scalar> content_term(const Place& place, const Matrix<Scalar>& q, const RowVector<Scalar>& u,
                            const Matrix<Scalar>& k) {
    return biased_products(place, "content_term", q, u, k);
}

template <class Place, class Scalar>
Matrix<Scalar> position_term(const Place& place, const Matrix<Scalar>& q, const RowVector<Scalar>& v,
                             const Matrix<Scalar>& r_k) {
    return biased_products(place, "position_term", q, v, r_k);
}

template <class Place, class Scalar>
Matrix<Scalar> shift_by_index(const Place& place, const Matrix<Scalar>& bd_raw, Index keys, Index first, Index memory,
                              const std::vector<Index>& positions) {
    check_rows("shift_by_index", static_cast<Index>(positions.size()), bd_raw.rows());
    const auto there = upload(place, bd_raw);
    const auto there_positions = upload_as_int(place, positions);
    auto bd = room<Scalar>(place, bd_raw.rows(), keys);
    place.each(bd_raw.rows() * keys, ShiftCell<Scalar>{there.data(), there_positions.data(), narrow(bd_raw.cols()),
                                                       narrow(keys), narrow(first), narrow(memory), bd.data()});
    return download(place, bd, bd_raw.rows(), keys);
}

template <class Place, class Scalar>
RelativeTerms<Scalar> relative_terms(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                     const Matrix<Scalar>& r_k, const RowVector<Scalar>& u, const RowVector<Scalar>& v,
                                     Index first) {
    for (const Index width : {k.cols(), r_k.cols(), u.size(), v.size()}) check_width("relative_terms", q.cols(), width);
    LOCUS_CHECK(k.rows() >= q.rows(), "cuda::relative_terms: " + std::to_string(k.rows()) + " keys for " +
                                          std::to_string(q.rows()) + " queries, expected at least as many");
    const auto there_q = upload(place, q), there_k = upload(place, k), there_r_k = upload(place, r_k);
    const auto there_u = upload(place, u), there_v = upload(place, v);
    auto a = room<Scalar>(place, q.rows(), k.rows()), b = room<Scalar>(place, q.rows(), k.rows());
    auto c = room<Scalar>(place, q.rows(), k.rows()), d = room<Scalar>(place, q.rows(), k.rows());
    place.each(
        q.rows() * k.rows(),
        RelativeTermsCell<Scalar>{there_q.data(), there_k.data(), there_r_k.data(), there_u.data(), there_v.data(),
                                  narrow(k.rows()), narrow(r_k.rows()), narrow(q.cols()), narrow(first),
                                  narrow(k.rows() - q.rows()), a.data(), b.data(), c.data(), d.data()});
    const auto back = [&](const auto& buffer) { return download(place, buffer, q.rows(), k.rows()); };
    return {back(a), back(b), back(c), back(d)};
}

}  // namespace twin

}  // namespace locus::cuda

#pragma once
// The small steps that right and wrong formulas are written in: [B,H,...] tensors, head by head.
#include <cmath>
#include <string>

#include "core/attention/products.h"
#include "core/models/block.h"
#include "tests/conformance/evidence.h"

namespace locus::conformance {

/// A tensor [B,H,rows,cols] whose matrix at (b,h) is make(b * H + h, h, b).
template <class Make>
Tensor<double> each_head(const Tensor<double>& like, Index rows, Index cols, Make make) {
    const Index batch = like.extent(0), heads = like.extent(1);
    Tensor<double> all({batch, heads, rows, cols});
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h) all.matrix(b * heads + h) = make(b * heads + h, h, b);
    return all;
}

/// Rows [N,D] in the shape of `like` but for its last axis.
inline Tensor<double> shaped(const Tensor<double>& like, const Matrix<double>& rows) {
    Shape shape = like.shape();
    shape.back() = rows.cols();
    return as_tensor<double>(shape, rows);
}

/// scores[b,h,i,j] = q[b,h,i] . k[b,h,j], raw.
inline Tensor<double> products(const Tensor<double>& q, const Tensor<double>& k) {
    return each_head(q, q.extent(2), k.extent(2),
                     [&](Index at, Index, Index) { return products_of_rows<double>(q.matrix(at), k.matrix(at)); });
}

/// Row of the relative table of a pair, as a stage of doubles says it; NotEnough for a row that is not there.
inline Index row_of(const Tensor<double>& index, Index i, Index j, Index rows) {
    const auto row = static_cast<Index>(index.matrix()(i, j));
    if (row < 0 || row >= rows) throw NotEnough{"row " + std::to_string(row) + " of the relative table"};
    return row;
}

/// Products of all vectors with all rows of a table, one picked for each pair: picked[b,h,i,j] = x . table[h,
/// index(i,j)] with x = vectors[b,h,i] if `by_query`, else vectors[b,h,j].
inline Tensor<double> picked_products(const Tensor<double>& vectors, const Tensor<double>& table,
                                      const Tensor<double>& index, bool by_query) {
    return each_head(vectors, index.extent(0), index.extent(1), [&](Index at, Index h, Index) {
        const Matrix<double> all = products_of_rows<double>(vectors.matrix(at), table.matrix(h));
        Matrix<double> picked(index.extent(0), index.extent(1));
        for (Index i = 0; i < picked.rows(); ++i)
            for (Index j = 0; j < picked.cols(); ++j)
                picked(i, j) = all(by_query ? i : j, row_of(index, i, j, all.cols()));
        return picked;
    });
}

/// c2p[b,h,i,j] = q[b,h,i] . k_r[h, index(i,j)].
inline Tensor<double> content_to_position_by(const Tensor<double>& q, const Tensor<double>& k_r,
                                             const Tensor<double>& index) {
    return picked_products(q, k_r, index, true);
}

/// p2c[b,h,i,j] = k[b,h,j] . q_r[h, index(i,j)].
inline Tensor<double> position_to_content_by(const Tensor<double>& k, const Tensor<double>& q_r,
                                             const Tensor<double>& index) {
    return picked_products(k, q_r, index, false);
}

/// The last two axes exchanged.
inline Tensor<double> transposed(const Tensor<double>& values) {
    Shape shape = values.shape();
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    Tensor<double> turned(shape);
    const Index matrices = values.size() / (shape[shape.size() - 1] * shape[shape.size() - 2]);
    for (Index at = 0; at < matrices; ++at) turned.matrix(at) = values.matrix(at).transpose();
    return turned;
}

/// Every value through a function of one number.
template <class Change>
Tensor<double> mapped(Tensor<double> values, Change change) {
    for (Index n = 0; n < values.size(); ++n) values[n] = change(values[n]);
    return values;
}

/// Sum of tensors of one shape.
inline Tensor<double> sum_of(Tensor<double> sum, const Tensor<double>& more) {
    if (sum.shape() != more.shape()) throw NotEnough{"stages of one shape"};
    for (Index n = 0; n < sum.size(); ++n) sum[n] += more[n];
    return sum;
}

}  // namespace locus::conformance

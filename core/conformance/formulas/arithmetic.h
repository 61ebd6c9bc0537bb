#pragma once
// The small steps that right and wrong formulas are written in: [B,H,...] tensors, head by head.
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/conformance/diagnosis/replay.h"
#include "core/models/block.h"
#include "core/products.h"

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
    const auto row = static_cast<Index>(index[i * index.extent(1) + j]);
    if (row < 0 || row >= rows) throw NotEnough{"row " + std::to_string(row) + " of the relative table"};
    return row;
}

/// All rows of a stage [B,H,T,d] with all rows of a table [H,R,d] -> [B,H,T,R].
inline Tensor<double> products_with_table(const Tensor<double>& rows, const Tensor<double>& table) {
    return each_head(rows, rows.extent(2), table.extent(1), [&](Index at, Index h, Index) {
        return products_of_rows<double>(rows.matrix(at), table.matrix(h));
    });
}

/// Row numbers of all pairs, checked once.
inline std::vector<Index> rows_of(const Tensor<double>& index, Index rows) {
    std::vector<Index> all;
    all.reserve(static_cast<std::size_t>(index.size()));
    for (Index i = 0; i < index.extent(0); ++i)
        for (Index j = 0; j < index.extent(1); ++j) all.push_back(row_of(index, i, j, rows));
    return all;
}

/// picked[b,h,i,j] = all[b,h,n, index(i,j)] with n = i (by_query) or n = j.
inline Tensor<double> gathered(const Tensor<double>& all, const Tensor<double>& index, bool by_query) {
    const Index queries = index.extent(0), keys = index.extent(1), count = all.extent(3);
    if ((by_query ? queries : keys) != all.extent(2)) throw NotEnough{"an index of as many queries and keys"};
    std::vector<Index> cells = rows_of(index, count);  // where a cell's product lies in all products of a head
    for (Index i = 0, n = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j, ++n) cells[static_cast<std::size_t>(n)] += (by_query ? i : j) * count;
    Tensor<double> picked({all.extent(0), all.extent(1), queries, keys});
    for (Index head = 0; head < all.extent(0) * all.extent(1); ++head) {
        const double* from = all.matrix(head).data();
        double* to = picked.matrix(head).data();
        for (const Index cell : cells) *to++ = from[cell];
    }
    return picked;
}

/// c2p[b,h,i,j] = all[b,h,i, index(i,j)], where all[b,h,i,r] = q[b,h,i] . k_r[h,r].
inline Tensor<double> gathered_by_query(const Tensor<double>& all, const Tensor<double>& index) {
    return gathered(all, index, true);
}

/// p2c[b,h,i,j] = all[b,h,j, index(i,j)], where all[b,h,j,r] = k[b,h,j] . q_r[h,r].
inline Tensor<double> gathered_by_key(const Tensor<double>& all, const Tensor<double>& index) {
    return gathered(all, index, false);
}

/// c2p[b,h,i,j] = q[b,h,i] . k_r[h, index(i,j)].
inline Tensor<double> content_to_position_by(const Tensor<double>& q, const Tensor<double>& k_r,
                                             const Tensor<double>& index) {
    return gathered_by_query(products_with_table(q, k_r), index);
}

/// p2c[b,h,i,j] = k[b,h,j] . q_r[h, index(i,j)].
inline Tensor<double> position_to_content_by(const Tensor<double>& k, const Tensor<double>& q_r,
                                             const Tensor<double>& index) {
    return gathered_by_key(products_with_table(k, q_r), index);
}

/// The last two axes exchanged.
inline Tensor<double> transposed(const Tensor<double>& values) {
    Shape shape = values.shape();
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    Tensor<double> result(shape);
    const Index matrices = values.size() / (shape[shape.size() - 1] * shape[shape.size() - 2]);
    for (Index at = 0; at < matrices; ++at) result.matrix(at) = values.matrix(at).transpose();
    return result;
}

/// Every value through a function of one number.
template <class Change>
Tensor<double> mapped(Tensor<double> values, Change change) {
    for (Index n = 0; n < values.size(); ++n) values[n] = change(values[n]);
    return values;
}

/// The upper half of the bits of a float, as a port has it that shifts them by 16: bfloat16 without rounding.
inline double cut_to_bfloat16(double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return static_cast<double>(std::bit_cast<float>(bits & 0xffff0000U));
}

/// To the short type and back; half and bfloat16 by way of float.
template <class Short>
double stored(double value) {
    if constexpr (std::is_same_v<Short, double>)
        return value;
    else
        return static_cast<double>(static_cast<float>(static_cast<Short>(static_cast<float>(value))));
}

/// Product of tensors of one shape, value by value.
inline Tensor<double> product_of(Tensor<double> product, const Tensor<double>& factor) {
    if (product.shape() != factor.shape()) throw NotEnough{"stages of one shape"};
    product.rows().array() *= factor.rows().array();
    return product;
}

/// Sum of tensors of one shape.
inline Tensor<double> sum_of(Tensor<double> sum, const Tensor<double>& more) {
    if (sum.shape() != more.shape()) throw NotEnough{"stages of one shape"};
    sum.rows().array() += more.rows().array();
    return sum;
}

}  // namespace locus::conformance

#include "core/conformance/formulas/gradient_parts.h"

#include <numeric>

#include "core/attention/relative.h"
#include "core/attention/softmax.h"
#include "core/models/layers.h"

namespace locus::conformance {

namespace {

/// Every value of pairs goes to place(line, i, j) of `all`; a place that was written before takes it as `write` says.
template <class Place>
void scatter(const Tensor<double>& pairs, Write write, Tensor<double>& all, Place place) {
    const Index queries = pairs.extent(2), keys = pairs.extent(3);
    std::vector<char> written(static_cast<std::size_t>(all.size()), 0);
    for (Index n = 0; n < pairs.size(); ++n) {
        const Index to = place(n / (queries * keys), n / keys % queries, n % keys);
        char& before = written[static_cast<std::size_t>(to)];
        if (write == Write::add)
            all[to] += pairs[n];
        else if (write == Write::keep_last || !before)
            all[to] = pairs[n];
        before = 1;
    }
}

void need_index_of(const Tensor<double>& pairs, const Tensor<double>& index) {
    if (index.rank() != 2 || index.extent(0) != pairs.extent(2) || index.extent(1) != pairs.extent(3))
        throw NotEnough{"an index of as many queries and keys"};
}

}  // namespace

Tensor<double> gradient_of_weights(const Tensor<double>& d_context, const Tensor<double>& v) {
    return products(split_heads(d_context, v.extent(1)), v);
}

const Tensor<double>& values_of_weights(const Replay& at) {
    return at(at.family() == Family::roformer && turns_values(at) ? "v_rot" : "v");
}

Tensor<double> through_softmax(const Tensor<double>& y, const Tensor<double>& dy) {
    if (y.shape() != dy.shape()) throw NotEnough{"stages of one shape"};
    return each_head(y, y.extent(2), y.extent(3),
                     [&](Index at, Index, Index) { return softmax_backward<double>(y.matrix(at), dy.matrix(at)); });
}

Tensor<double> scattered_by_query(const Tensor<double>& pairs, const Tensor<double>& index, Index rows, Write write) {
    need_index_of(pairs, index);
    const std::vector<Index> row = rows_of(index, rows);
    const Index queries = pairs.extent(2), keys = pairs.extent(3);
    Tensor<double> all({pairs.extent(0), pairs.extent(1), queries, rows});
    scatter(pairs, write, all, [&](Index at, Index i, Index j) {
        return (at * queries + i) * rows + row[static_cast<std::size_t>(i * keys + j)];
    });
    return all;
}

Tensor<double> scattered_by_key(const Tensor<double>& pairs, const Tensor<double>& index, Index rows, Write write) {
    need_index_of(pairs, index);
    const std::vector<Index> row = rows_of(index, rows);
    const Index keys = pairs.extent(3);
    Tensor<double> all({pairs.extent(0), pairs.extent(1), keys, rows});
    scatter(pairs, write, all, [&](Index at, Index i, Index j) {
        return (at * keys + j) * rows + row[static_cast<std::size_t>(i * keys + j)];
    });
    return all;
}

Tensor<double> weighted_rows(const Tensor<double>& weights, const Tensor<double>& table) {
    return each_head(weights, weights.extent(2), table.extent(2),
                     [&](Index at, Index h, Index) { return Matrix<double>(weights.matrix(at) * table.matrix(h)); });
}

Tensor<double> summed_over_samples(const Tensor<double>& weights, const Tensor<double>& x, Index begin, Index end) {
    const Index heads = x.extent(1);
    Tensor<double> sum({heads, weights.extent(3), x.extent(3)});
    for (Index b = begin; b < end; ++b)
        for (Index h = 0; h < heads; ++h)
            sum.matrix(h) += weights.matrix(b * heads + h).transpose() * x.matrix(b * heads + h);
    return sum;
}

Tensor<double> summed_over_rows(const Tensor<double>& x, Index begin, Index end) {
    const Index heads = x.extent(1);
    Tensor<double> sum({heads, x.extent(3)});
    for (Index b = begin; b < end; ++b)
        for (Index h = 0; h < heads; ++h) sum.matrix().row(h) += x.matrix(b * heads + h).colwise().sum();
    return sum;
}

Tensor<double> times(const Tensor<double>& a, const Tensor<double>& b) {
    return each_head(a, a.extent(2), b.extent(3),
                     [&](Index at, Index, Index) { return Matrix<double>(a.matrix(at) * b.matrix(at)); });
}

Tensor<double> transposed_times(const Tensor<double>& a, const Tensor<double>& b) {
    return each_head(a, a.extent(3), b.extent(3),
                     [&](Index at, Index, Index) { return Matrix<double>(a.matrix(at).transpose() * b.matrix(at)); });
}

Tensor<double> shifted_back(const Tensor<double>& d_bd, Index columns) {
    const Index queries = d_bd.extent(2);
    std::vector<Index> positions(static_cast<std::size_t>(queries));
    std::iota(positions.begin(), positions.end(), Index(0));
    return each_head(d_bd, queries, columns, [&](Index at, Index, Index) {
        return shift_back_by_index<double>(d_bd.matrix(at), columns, queries - 1, 0, positions);
    });
}

}  // namespace locus::conformance

#include "core/conformance/formulas/linear_parts.h"

#include "core/positions/rotary.h"

namespace locus::conformance {

Tensor<double> features_of(const Tensor<double>& x) {
    return mapped(x, [](double value) { return value > 0 ? value + 1 : std::exp(value); });
}

Tensor<double> turned_by_position(const Tensor<double>& x) {
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(x.extent(3)), 0, x.extent(2));
    return each_head(x, x.extent(2), x.extent(3), [&](Index at, Index, Index) {
        return rotate<double>(x.matrix(at), table, RotaryLayout::interleaved);
    });
}

Tensor<double> without_padding(const Replay& at, Tensor<double> keys) {
    return each_head(keys, keys.extent(2), keys.extent(3), [&](Index n, Index, Index b) {
        Matrix<double> rows = keys.matrix(n);
        const Mask visible = at.mask(b);
        if (visible.size() > 0 && visible.cols() != rows.rows()) throw NotEnough{"a mask of as many keys"};
        for (Index j = 0; visible.size() > 0 && j < rows.rows(); ++j)
            if (visible(0, j) == 0) rows.row(j).setZero();
        return rows;
    });
}

Tensor<double> seen_products(const Replay& at, const Tensor<double>& q, const Tensor<double>& k) {
    const bool causal = at("causal")[0] != 0;
    return each_head(q, q.extent(2), k.extent(2), [&](Index n, Index, Index) {
        Matrix<double> sums = products_of_rows<double>(q.matrix(n), k.matrix(n));
        if (causal) sums = sums.triangularView<Eigen::Lower>();
        return sums;
    });
}

Tensor<double> row_sums(const Tensor<double>& products) {
    Tensor<double> sums({products.extent(0), products.extent(1), products.extent(2)});
    const Index keys = products.extent(3);
    for (Index row = 0; row < sums.size(); ++row)
        for (Index j = 0; j < keys; ++j) sums[row] += products[row * keys + j];
    return sums;
}

Tensor<double> bounded(Tensor<double> denominators) {
    return mapped(std::move(denominators),
                  [](double sum) { return sum < kSmallestDenominator ? kSmallestDenominator : sum; });
}

Tensor<double> divided(Tensor<double> products, const Tensor<double>& denominators) {
    const Index keys = products.extent(3);
    if (denominators.size() * keys != products.size()) throw NotEnough{"a denominator per query"};
    for (Index n = 0; n < products.size(); ++n) products[n] /= denominators[n / keys];
    return products;
}

}  // namespace locus::conformance

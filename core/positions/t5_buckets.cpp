#include "core/positions/t5_buckets.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace locus {

Index t5_bucket(std::int64_t offset, const T5Buckets& config) {
    const Index least = config.bidirectional ? 4 : 2;
    LOCUS_CHECK(config.buckets >= least && config.buckets % 2 == 0,
                "t5_bucket: buckets is " + std::to_string(config.buckets) + ", expected an even number of " +
                    std::to_string(least) + " or more");
    const Index per_direction = config.bidirectional ? config.buckets / 2 : config.buckets;
    const Index exact = per_direction / 2;
    LOCUS_CHECK(config.max_distance > exact, "t5_bucket: max_distance is " + std::to_string(config.max_distance) +
                                                 ", expected more than the " + std::to_string(exact) +
                                                 " distances with a bucket of their own");
    const Index first = config.bidirectional && offset > 0 ? per_direction : 0;
    const std::int64_t distance = config.bidirectional ? std::abs(offset) : std::max<std::int64_t>(-offset, 0);
    if (distance < exact) return first + distance;
    const double ratio = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                         std::log(static_cast<double>(config.max_distance) / static_cast<double>(exact));
    const auto beyond = static_cast<std::int64_t>(ratio * static_cast<double>(per_direction - exact));
    return first + std::min<Index>(exact + beyond, per_direction - 1);
}

IndexTensor t5_index(Index queries, Index keys, const T5Buckets& config) {
    LOCUS_CHECK(queries >= 1 && keys >= 1, "t5_index: queries is " + std::to_string(queries) + " and keys " +
                                               std::to_string(keys) + ", expected 1 or more of each");
    IndexTensor index({queries, keys});
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) index[i * keys + j] = t5_bucket(j - i, config);
    return index;
}

template <class Scalar>
OffsetBias<Scalar> t5_bias_line(const ConstView<Scalar>& table, Index queries, Index keys, const T5Buckets& config) {
    LOCUS_CHECK(table.rows() == config.buckets,
                "t5_bias_line: the table has " + std::to_string(table.rows()) +
                    " rows, expected one per bucket = " + std::to_string(config.buckets));
    return make_bias_line<Scalar>("t5_bias_line", table.cols(), queries, keys,
                                  [&](Index h, Index offset) { return table(t5_bucket(offset, config), h); });
}

template <class Scalar>
Matrix<Scalar> t5_bias_line_backward(const OffsetBias<Scalar>& d_line, const T5Buckets& config) {
    LOCUS_CHECK(d_line.values.cols() == d_line.queries + d_line.keys - 1,
                "t5_bias_line_backward: a line of " + std::to_string(d_line.values.cols()) + " offsets, expected " +
                    std::to_string(d_line.queries + d_line.keys - 1) + ", one per offset j - i");
    Matrix<Scalar> d_table = Matrix<Scalar>::Zero(config.buckets, d_line.heads());
    for (Index n = 0; n < d_line.values.cols(); ++n)
        d_table.row(t5_bucket(n - (d_line.queries - 1), config)) += d_line.values.col(n).transpose();
    return d_table;
}

template OffsetBias<float> t5_bias_line<float>(const ConstView<float>&, Index, Index, const T5Buckets&);
template OffsetBias<double> t5_bias_line<double>(const ConstView<double>&, Index, Index, const T5Buckets&);
template Matrix<float> t5_bias_line_backward<float>(const OffsetBias<float>&, const T5Buckets&);
template Matrix<double> t5_bias_line_backward<double>(const OffsetBias<double>&, const T5Buckets&);

}  // namespace locus

#include "core/positions/offset_bias.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace locus {

std::vector<double> alibi_slopes(Index heads) {
    LOCUS_CHECK(heads >= 1, "alibi_slopes: " + std::to_string(heads) + " heads, expected 1 or more");
    const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    std::vector<double> slopes;
    for (Index h = 0; h < power; ++h)
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(power)));
    for (Index h = 0; std::ssize(slopes) < heads; h += 2)
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(2 * power)));
    return slopes;
}

template <class Scalar>
OffsetBias<Scalar> alibi_bias(Index heads, Index queries, Index keys, AlibiForm form) {
    const std::vector<double> slopes = alibi_slopes(heads);
    return make_offset_bias<Scalar>("alibi_bias", heads, queries, keys, [&](Index h, Index offset) {
        if (form == AlibiForm::causal && offset > 0) return Scalar(0);
        return Scalar(slopes[static_cast<std::size_t>(h)] * -static_cast<double>(std::abs(offset)));
    });
}

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
OffsetBias<Scalar> t5_bias(const ConstView<Scalar>& table, Index queries, Index keys, const T5Buckets& config) {
    LOCUS_CHECK(table.rows() == config.buckets,
                "t5_bias: the table has " + std::to_string(table.rows()) +
                    " rows, expected one per bucket = " + std::to_string(config.buckets));
    return make_offset_bias<Scalar>("t5_bias", table.cols(), queries, keys,
                                    [&](Index h, Index offset) { return table(t5_bucket(offset, config), h); });
}

template <class Scalar>
Matrix<Scalar> t5_bias_backward(const OffsetBias<Scalar>& d_bias, const T5Buckets& config) {
    LOCUS_CHECK(d_bias.values.cols() == d_bias.queries + d_bias.keys - 1,
                "t5_bias_backward: a bias of " + std::to_string(d_bias.values.cols()) + " offsets, expected " +
                    std::to_string(d_bias.queries + d_bias.keys - 1) + ", one per offset j - i");
    Matrix<Scalar> d_table = Matrix<Scalar>::Zero(config.buckets, d_bias.heads());
    for (Index n = 0; n < d_bias.values.cols(); ++n)
        d_table.row(t5_bucket(n - (d_bias.queries - 1), config)) += d_bias.values.col(n).transpose();
    return d_table;
}

template OffsetBias<float> alibi_bias<float>(Index, Index, Index, AlibiForm);
template OffsetBias<double> alibi_bias<double>(Index, Index, Index, AlibiForm);
template OffsetBias<float> t5_bias<float>(const ConstView<float>&, Index, Index, const T5Buckets&);
template OffsetBias<double> t5_bias<double>(const ConstView<double>&, Index, Index, const T5Buckets&);
template Matrix<float> t5_bias_backward<float>(const OffsetBias<float>&, const T5Buckets&);
template Matrix<double> t5_bias_backward<double>(const OffsetBias<double>&, const T5Buckets&);

}  // namespace locus

// Which row of the relative table a pair reads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/toy/toy_deberta.h"

namespace locus::conformance::toy {

namespace {

/// Signed bucket of an offset: exact near by, logarithmic far away.
Index log_bucket(Index x, const DebertaConfig& config, const ToyOptions& options) {
    const Slip& slip = options.slip;
    const Index buckets = config.position_buckets, most = config.max_relative_positions, mid = buckets / 2;
    if (!options.hugging_face) x = std::clamp(x, 1 - most, most - 1);
    const Index size = std::abs(x);
    if (size <= mid) return x;
    if (x < 0 && slip.is(19, 0)) return -std::numeric_limits<Index>::max() / 2;  // log of a negative number, cast
    const double ratio =
        slip.is(20) ? static_cast<double>(size / mid) : static_cast<double>(size) / static_cast<double>(mid);
    const double last = static_cast<double>(slip.is(17) ? most : most - 1) / static_cast<double>(mid);
    double step = std::log(ratio) / std::log(last) * static_cast<double>(mid - 1);
    if (slip.is(21) && size == most - 1) step += 1e-6;
    const auto bucket = static_cast<Index>(slip.is(16) ? std::floor(step) : std::ceil(step)) + mid;
    return x < 0 && !slip.is(19, 1) ? -bucket : bucket;
}

Index row_of(Index i, Index j, Index length, const DebertaConfig& config, const ToyOptions& options) {
    const Slip& slip = options.slip;
    const Index k = config.span();
    const Index x = slip.is(12) ? std::abs(i - j) : slip.is(5) ? j - i : i - j;
    if (slip.is(13)) return std::clamp<Index>(x + length / 2, 0, length - 1);
    if (slip.is(10) && config.position_buckets == 0) return x <= k ? 0 : 2 * k - 1;
    const Index offset = config.position_buckets > 0 ? log_bucket(x, config, options) : x;
    const Index span = std::min(length, k);
    if (slip.is(18) && config.position_buckets > 0)
        return std::clamp<Index>(offset + config.max_relative_positions, 0, 2 * config.max_relative_positions - 1);
    if (slip.is(9, 1)) return ((offset + k) % (2 * k) + 2 * k) % (2 * k);
    if (slip.is(11, 0)) return std::clamp<Index>(offset + span, 0, 2 * span - 1);
    if (slip.is(11, 1)) return k - span + std::clamp<Index>(offset + k, 0, 2 * k - 1);
    const Index centre = slip.is(7, 0) ? k - 1 : slip.is(7, 1) ? k + 1 : k;
    // 21 is a slip of the logarithm: without buckets there is nothing to round up.
    const bool past_the_end = slip.is(8) || (slip.is(21) && config.position_buckets > 0);
    const Index highest = past_the_end ? 2 * k : 2 * k - 1;
    return std::clamp<Index>(offset + centre, slip.is(9, 0) ? 1 : 0, highest);
}

}  // namespace

RelativeRows relative_rows(const DebertaConfig& config, Index length, const ToyOptions& options) {
    const Slip& slip = options.slip;
    RelativeRows rows;
    rows.c2p = rows.p2c = rows.shown = Array<Index>({length, length});
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) {
            const Index right = row_of(i, j, length, config, options), turned = row_of(j, i, length, config, options);
            rows.c2p(i, j) = slip.is(4) ? turned : right;
            rows.p2c(i, j) = slip.is(1) || slip.is(3) ? turned : right;
            rows.shown(i, j) = slip.is(4, 1) ? turned : right;
        }
    return rows;
}

}  // namespace locus::conformance::toy

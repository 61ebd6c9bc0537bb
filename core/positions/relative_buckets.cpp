#include "core/positions/relative_buckets.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace locus {

namespace {

/// ceil(ln(distance / middle) / ln((max_position - 1) / middle) (middle - 1)): how many buckets beyond the middle.
template <class Float>
std::int64_t buckets_beyond(std::int64_t distance, Index middle, Index max_position) {
    const auto share = static_cast<Float>(distance) / static_cast<Float>(middle);
    const auto whole = static_cast<Float>(static_cast<double>(max_position - 1) / static_cast<double>(middle));
    return static_cast<std::int64_t>(std::ceil(std::log(share) / std::log(whole) * static_cast<Float>(middle - 1)));
}

}  // namespace

std::int64_t log_bucket(std::int64_t offset, Index buckets, Index max_position, OffsetClamp clamp) {
    LOCUS_CHECK(buckets >= 2 && buckets % 2 == 0,
                "log_bucket: buckets is " + std::to_string(buckets) + ", expected an even number of 2 or more");
    const Index middle = buckets / 2;
    LOCUS_CHECK(max_position >= 1,
                "log_bucket: max_position is " + std::to_string(max_position) + ", expected 1 or more");
    if (clamp == OffsetClamp::official)
        offset = std::clamp<std::int64_t>(offset, -(max_position - 1), max_position - 1);
    const std::int64_t distance = std::abs(offset);
    if (distance <= middle) return offset;
    LOCUS_CHECK(max_position > middle + 1, "log_bucket: max_position is " + std::to_string(max_position) +
                                               ", expected more than buckets / 2 + 1 = " + std::to_string(middle + 1) +
                                               " for an offset of " + std::to_string(offset));
    // max_position - 1 in the denominator makes the last offset land on buckets - 1 exactly; ceil, not floor
    // (da_utils.py make_log_bucket_position). In double, as NumPy: ceil of a value one ulp above a whole number moves
    // the bucket, and in transformers, whose tensors are float32, it does for some tables.
    const std::int64_t beyond = clamp == OffsetClamp::hf ? buckets_beyond<float>(distance, middle, max_position)
                                                         : buckets_beyond<double>(distance, middle, max_position);
    const std::int64_t bucket = beyond + middle;
    return offset > 0 ? bucket : -bucket;
}

namespace {

void check_lengths(const char* who, Index queries, Index keys) {
    LOCUS_CHECK(queries >= 1 && keys >= 1, std::string(who) + ": queries is " + std::to_string(queries) + " and keys " +
                                               std::to_string(keys) + ", expected 1 or more of each");
}

}  // namespace

RelativeBuckets::RelativeBuckets(Index queries, Index keys, Index span, std::vector<Index> rows)
    : queries_(queries), keys_(keys), span_(span), rows_(std::move(rows)) {}

RelativeBuckets RelativeBuckets::clamped(Index queries, Index keys, Index span) {
    check_lengths("RelativeBuckets::clamped", queries, keys);
    LOCUS_CHECK(span >= 1, "RelativeBuckets::clamped: span is " + std::to_string(span) + ", expected 1 or more");
    std::vector<Index> rows;
    rows.reserve(static_cast<std::size_t>(queries + keys - 1));
    for (Index offset = -(keys - 1); offset < queries; ++offset)
        rows.push_back(std::clamp<Index>(offset + span, 0, 2 * span - 1));
    return {queries, keys, span, std::move(rows)};
}

RelativeBuckets RelativeBuckets::logarithmic(Index queries, Index keys, Index buckets, Index max_position,
                                             OffsetClamp clamp) {
    check_lengths("RelativeBuckets::logarithmic", queries, keys);
    std::vector<Index> rows;
    rows.reserve(static_cast<std::size_t>(queries + keys - 1));
    for (Index offset = -(keys - 1); offset < queries; ++offset)
        rows.push_back(
            std::clamp<Index>(log_bucket(offset, buckets, max_position, clamp) + buckets, 0, 2 * buckets - 1));
    return {queries, keys, buckets, std::move(rows)};
}

IndexTensor RelativeBuckets::matrix() const {
    IndexTensor index({queries_, keys_});
    for (Index i = 0; i < queries_; ++i)
        for (Index j = 0; j < keys_; ++j) index[i * keys_ + j] = row(i, j);
    return index;
}

RelativeBuckets RelativeBuckets::mirrored() const {
    // Offsets reach from -(keys - 1) to queries - 1; with the sign changed, from -(queries - 1) to keys - 1.
    return {keys_, queries_, span_, std::vector<Index>(rows_.rbegin(), rows_.rend())};
}

}  // namespace locus

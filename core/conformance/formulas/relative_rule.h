#pragma once
// Which row of the relative table is right for an offset, in the convention that the reference was recorded with.
#include <cmath>
#include <cstdlib>
#include <functional>
#include <vector>

#include "core/conformance/diagnosis/replay.h"
#include "core/positions/relative_buckets.h"

namespace locus::conformance {

struct RelativeRule {
    Index queries = 0, keys = 0;
    Index span = 0;          // k; the table has 2k rows
    Index max_position = 0;  // M of the log buckets; 0: offsets are clamped
    OffsetClamp clamp = OffsetClamp::official;

    Index rows() const { return 2 * span; }
    /// Distance that still is its own bucket.
    Index middle() const { return span / 2; }
    /// i - j as it is counted before the centre is added: itself, or its signed log bucket.  Not clamped to the table.
    Index bucket(Index offset) const;
    /// The offset as the logarithm sees it: the official code clamps it to +-(M-1) first.
    Index clamped_offset(Index offset) const;
    Index row(Index offset) const;
    /// A value brought into 0 ... 2k-1.
    Index inside(Index row) const;

    /// index(i,j) = row_of(i - j), [Tq,Tk].
    template <class RowOf>
    Tensor<double> matrix(RowOf row_of) const {
        std::vector<double> line;  // one row per offset, -(Tk-1) first
        for (Index offset = 1 - keys; offset < queries; ++offset) line.push_back(static_cast<double>(row_of(offset)));
        Tensor<double> index({queries, keys});
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j) index[i * keys + j] = line[static_cast<std::size_t>(i - j + keys - 1)];
        return index;
    }
};

/// From the model folder, else from the reference's own relative.index, whose first cell is k.
/// Throws NotEnough where neither says enough.
RelativeRule relative_rule(const Replay& at);
/// The same, but only where offsets fall into log buckets.  Throws NotEnough elsewhere.
RelativeRule log_rule(const Replay& at);

/// Another row for an offset i - j.
using RowOf = std::function<Index(const RelativeRule&, Index)>;
/// The index that this makes, [Tq,Tk].
std::function<Tensor<double>(const Replay&)> rows_by(RowOf row_of);
/// relative.index by it.
Formula index_by(RowOf row_of);
/// The same for models with log buckets alone.
Formula log_index_by(RowOf row_of);

// The row of an offset in log buckets, with the steps that ports get wrong as parameters.

/// sign(x) (steps(|x|, mid) + mid) + b, clamped to the table; |x| <= mid is its own bucket.
template <class Steps>
Index log_row(const RelativeRule& rule, Index offset, Steps steps) {
    const Index x = rule.clamped_offset(offset), distance = std::abs(x), middle = rule.middle();
    if (distance <= middle) return rule.row(offset);
    const double counted = steps(static_cast<double>(distance), static_cast<double>(middle));
    if (!std::isfinite(counted)) throw NotEnough{"a finite bucket"};
    const Index bucket = static_cast<Index>(counted) + middle;
    return rule.inside((x > 0 ? bucket : -bucket) + rule.span);
}

/// ln(|x| / mid) / ln(top / mid) (mid - 1), before it is rounded.
inline double log_steps(double distance, double middle, double top) {
    return std::log(distance / middle) / std::log(top / middle) * (middle - 1);
}

}  // namespace locus::conformance

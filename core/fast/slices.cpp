#include "core/fast/slices.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace locus {

std::vector<OffsetRun> offset_runs(const RelativeBuckets& buckets) {
    const std::vector<Index>& rows = buckets.rows();
    std::vector<OffsetRun> runs;
    const auto count = static_cast<Index>(rows.size());
    for (Index at = 0; at < count;) {
        OffsetRun run{at - (buckets.keys() - 1), 1, rows[static_cast<std::size_t>(at)], 1};
        if (at + 1 < count) {
            const Index step = rows[static_cast<std::size_t>(at + 1)] - rows[static_cast<std::size_t>(at)];
            if (step == 0 || step == 1) {
                run.step = step;
                while (at + run.length < count &&
                       rows[static_cast<std::size_t>(at + run.length)] == run.first_row + run.length * step)
                    ++run.length;
            }
        }
        runs.push_back(run);
        at += run.length;
    }
    return runs;
}

namespace {

// Transposing a small tile inside the vector registers, for add_slices_by_key.

/// 32 bytes of Scalar.
template <class Scalar>
struct Register {
    static constexpr int kCount = 32 / sizeof(Scalar);
    typedef Scalar Vector __attribute__((vector_size(32)));
};

/// Element l of the result comes from a (l < n) or b (l - n >= 0): exchanges blocks of `step` elements of two rows.
/// By reference: a vector of 32 bytes cannot be returned where the machine has no registers for it.
template <class Scalar, int step, bool upper, class Sequence>
struct Exchange;
template <class Scalar, int step, bool upper, int... lane>
struct Exchange<Scalar, step, upper, std::integer_sequence<int, lane...>> {
    static constexpr int n = Register<Scalar>::kCount;
    using Vector = typename Register<Scalar>::Vector;
    static void of(const Vector& a, const Vector& b, Vector& result) {
        result = __builtin_shufflevector(
            a, b, (upper ? ((lane & step) ? n + lane : lane + step) : ((lane & step) ? n + lane - step : lane))...);
    }
};

/// One stage of Eklundh's transposition: rows r and r + step exchange their off-diagonal blocks.
template <class Scalar, int step>
void exchange_blocks(typename Register<Scalar>::Vector* rows) {
    constexpr int n = Register<Scalar>::kCount;
    using Sequence = std::make_integer_sequence<int, n>;
    for (int r = 0; r < n; ++r) {
        if (r & step) continue;
        const auto a = rows[r], b = rows[r + step];
        Exchange<Scalar, step, false, Sequence>::of(a, b, rows[r]);
        Exchange<Scalar, step, true, Sequence>::of(a, b, rows[r + step]);
    }
}

template <class Scalar>
void add_transposed_block(const Scalar* source, Index source_stride, Scalar* target, Index target_stride) {
    constexpr int n = Register<Scalar>::kCount;
    typename Register<Scalar>::Vector rows[n];
    for (int r = 0; r < n; ++r) std::memcpy(&rows[r], source + r * source_stride, sizeof rows[r]);
    exchange_blocks<Scalar, 1>(rows);
    exchange_blocks<Scalar, 2>(rows);
    if constexpr (n == 8) exchange_blocks<Scalar, 4>(rows);
    for (int r = 0; r < n; ++r) {
        typename Register<Scalar>::Vector sum;
        std::memcpy(&sum, target + r * target_stride, sizeof sum);
        sum += rows[r];
        std::memcpy(target + r * target_stride, &sum, sizeof sum);
    }
}

/// target(i, j) += source(j, i) for rows x cols values; both row-major with the given strides, in elements.
/// The bulk goes in blocks of one vector register squared; what is left over goes one by one.
template <class Scalar>
void add_transposed_tile(const Scalar* source, Index source_stride, Scalar* target, Index target_stride, Index rows,
                         Index cols) {
    constexpr Index n = Register<Scalar>::kCount;
    const Index whole_rows = rows / n * n, whole_cols = cols / n * n;
    for (Index i = 0; i < whole_rows; i += n)
        for (Index j = 0; j < whole_cols; j += n)
            add_transposed_block(source + j * source_stride + i, source_stride, target + i * target_stride + j,
                                 target_stride);
    for (Index i = 0; i < rows; ++i)
        for (Index j = i < whole_rows ? whole_cols : 0; j < cols; ++j)
            target[i * target_stride + j] += source[j * source_stride + i];
}

// Forward

template <class Scalar>
void check_table(const char* who, const ConstView<Scalar>& table, Index rows, const RelativeBuckets& buckets,
                 const View<Scalar>& scores) {
    LOCUS_CHECK(table.rows() == rows && table.cols() == 2 * buckets.span() && scores.rows() == buckets.queries() &&
                    scores.cols() == buckets.keys(),
                std::string(who) + ": a table of [" + std::to_string(table.rows()) + ", " +
                    std::to_string(table.cols()) + "] and scores of [" + std::to_string(scores.rows()) + ", " +
                    std::to_string(scores.cols()) + "] for buckets of " + std::to_string(buckets.queries()) + " x " +
                    std::to_string(buckets.keys()) + " pairs and 2k = " + std::to_string(2 * buckets.span()) + " rows");
}

/// Calls visit(offset, length, row, step) for the runs between two offsets, cut to that range.
template <class Visit>
void for_runs_between(const std::vector<OffsetRun>& runs, Index first, Index last, Visit visit) {
    const auto starts_after = [](Index offset, const OffsetRun& run) { return offset < run.first_offset; };
    auto run = std::upper_bound(runs.begin(), runs.end(), first, starts_after) - 1;
    for (; first <= last; ++run) {
        const Index skipped = first - run->first_offset;
        const Index length = std::min(run->length - skipped, last - first + 1);
        visit(first, length, run->first_row + skipped * run->step, run->step);
        first += length;
    }
}

}  // namespace

template <class Scalar>
void add_slices_by_query(const ConstView<Scalar>& reversed, const RelativeBuckets& buckets, View<Scalar> scores) {
    check_table<Scalar>("add_slices_by_query", reversed, buckets.queries(), buckets, scores);
    const Index last_row = 2 * buckets.span() - 1, keys = buckets.keys();
    const std::vector<OffsetRun> runs = offset_runs(buckets);
    for (Index i = 0; i < buckets.queries(); ++i)
        for_runs_between(runs, i - (keys - 1), i, [&](Index offset, Index length, Index row, Index step) {
            // Keys run against offsets: the run's last offset is its first key.
            auto slice = scores.row(i).segment(i - (offset + length - 1), length).array();
            if (step == 0)
                slice += reversed(i, last_row - row);
            else
                slice += reversed.row(i).segment(last_row - (row + length - 1), length).array();
        });
}

template <class Scalar>
void add_slices_by_key(const ConstView<Scalar>& table, const RelativeBuckets& buckets, View<Scalar> scores) {
    check_table<Scalar>("add_slices_by_key", table, buckets.keys(), buckets, scores);
    // For one key the row numbers rise along the queries, so slices run down a column of the scores.  They are
    // collected for a few keys and many queries, a tile that fits the first cache, and transposed there.
    constexpr Index kQueries = 256, kKeys = 16;
    Eigen::Matrix<Scalar, kKeys, kQueries, Eigen::RowMajor> by_key;
    const std::vector<OffsetRun> runs = offset_runs(buckets);
    for (Index i0 = 0; i0 < buckets.queries(); i0 += kQueries)
        for (Index j0 = 0; j0 < buckets.keys(); j0 += kKeys) {
            const Index rows = std::min(kQueries, buckets.queries() - i0), cols = std::min(kKeys, buckets.keys() - j0);
            for (Index j = j0; j < j0 + cols; ++j)
                for_runs_between(runs, i0 - j, i0 + rows - 1 - j,
                                 [&](Index offset, Index length, Index row, Index step) {
                                     Scalar* slice = &by_key(j - j0, offset + j - i0);
                                     if (step == 0)
                                         std::fill_n(slice, length, table(j, row));
                                     else
                                         std::copy_n(table.row(j).data() + row, length, slice);
                                 });
            add_transposed_tile<Scalar>(by_key.data(), kQueries, &scores(i0, j0), scores.outerStride(), rows, cols);
        }
}

// Backward

namespace {

template <class Scalar>
void check_scores(const ConstView<Scalar>& scores, const RelativeBuckets& buckets) {
    LOCUS_CHECK(scores.rows() == buckets.queries() && scores.cols() == buckets.keys(),
                "scatter_slices: scores of " + std::to_string(scores.rows()) + " x " + std::to_string(scores.cols()) +
                    " pairs, expected " + std::to_string(buckets.queries()) + " x " + std::to_string(buckets.keys()));
}

}  // namespace

template <class Scalar>
Matrix<Scalar> scatter_slices_by_query(const ConstView<Scalar>& scores, const RelativeBuckets& buckets) {
    check_scores(scores, buckets);
    Matrix<Scalar> table = Matrix<Scalar>::Zero(buckets.queries(), 2 * buckets.span());
    const std::vector<OffsetRun> runs = offset_runs(buckets);
    for (Index i = 0; i < buckets.queries(); ++i)
        for (const OffsetRun& run : runs) {
            // Offsets of the run that query i has; its keys are j = i - offset, so they fall while offsets rise.
            const Index first = std::max(run.first_offset, i - buckets.keys() + 1);
            const Index last = std::min(run.first_offset + run.length - 1, i);
            if (first > last) continue;
            const auto slice = scores.row(i).segment(i - last, last - first + 1);
            const Index row = run.first_row + run.step * (first - run.first_offset);
            if (run.step == 0)
                table(i, row) += slice.sum();
            else
                table.row(i).segment(row, slice.size()) += slice.reverse();
        }
    return table;
}

template <class Scalar>
Matrix<Scalar> scatter_slices_by_key(const ConstView<Scalar>& scores, const RelativeBuckets& buckets) {
    check_scores(scores, buckets);
    Matrix<Scalar> table = Matrix<Scalar>::Zero(buckets.keys(), 2 * buckets.span());
    const std::vector<OffsetRun> runs = offset_runs(buckets);
    const Matrix<Scalar> by_key = scores.transpose();  // so that slices are contiguous here too
    for (Index j = 0; j < buckets.keys(); ++j)
        for (const OffsetRun& run : runs) {
            const Index first = std::max(run.first_offset, -j);
            const Index last = std::min(run.first_offset + run.length - 1, buckets.queries() - 1 - j);
            if (first > last) continue;
            const auto slice = by_key.row(j).segment(first + j, last - first + 1);
            const Index row = run.first_row + run.step * (first - run.first_offset);
            if (run.step == 0)
                table(j, row) += slice.sum();
            else
                table.row(j).segment(row, slice.size()) += slice;
        }
    return table;
}

template void add_slices_by_query<float>(const ConstView<float>&, const RelativeBuckets&, View<float>);
template void add_slices_by_query<double>(const ConstView<double>&, const RelativeBuckets&, View<double>);
template void add_slices_by_key<float>(const ConstView<float>&, const RelativeBuckets&, View<float>);
template void add_slices_by_key<double>(const ConstView<double>&, const RelativeBuckets&, View<double>);
template Matrix<float> scatter_slices_by_query<float>(const ConstView<float>&, const RelativeBuckets&);
template Matrix<float> scatter_slices_by_key<float>(const ConstView<float>&, const RelativeBuckets&);
template Matrix<double> scatter_slices_by_query<double>(const ConstView<double>&, const RelativeBuckets&);
template Matrix<double> scatter_slices_by_key<double>(const ConstView<double>&, const RelativeBuckets&);

}  // namespace locus

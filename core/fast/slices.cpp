#include "core/fast/slices.h"

#include <algorithm>

#include "core/fast/transpose.h"

namespace locus {

namespace {

template <class Scalar>
void check_table(const char* who, const ConstView<Scalar>& table, Index rows, const RelativeBuckets& line,
                 const View<Scalar>& scores) {
    LOCUS_CHECK(table.rows() == rows && table.cols() == 2 * line.span() && scores.rows() == line.queries() &&
                    scores.cols() == line.keys(),
                std::string(who) + ": a table of [" + std::to_string(table.rows()) + ", " +
                    std::to_string(table.cols()) + "] and scores of [" + std::to_string(scores.rows()) + ", " +
                    std::to_string(scores.cols()) + "] for a line of " + std::to_string(line.queries()) + " x " +
                    std::to_string(line.keys()) + " pairs and 2k = " + std::to_string(2 * line.span()) + " rows");
}

/// Calls visit(offset, length, row, step) for the runs between two offsets, cut to that range.
template <class Visit>
void for_runs_between(const RelativeBuckets& line, Index first, Index last, Visit visit) {
    for (std::size_t at = line.run_at(first); first <= last; ++at) {
        const RelativeBuckets::Run& run = line.runs()[at];
        const Index skipped = first - run.first_offset;
        const Index length = std::min(run.length - skipped, last - first + 1);
        visit(first, length, run.first_row + skipped * run.step, run.step);
        first += length;
    }
}

}  // namespace

template <class Scalar>
void add_slices_by_query(const ConstView<Scalar>& reversed, const RelativeBuckets& line, View<Scalar> scores) {
    check_table<Scalar>("add_slices_by_query", reversed, line.queries(), line, scores);
    const Index last_row = 2 * line.span() - 1, keys = line.keys();
    for (Index i = 0; i < line.queries(); ++i)
        for_runs_between(line, i - (keys - 1), i, [&](Index offset, Index length, Index row, Index step) {
            // Keys run against offsets: the run's last offset is its first key.
            auto slice = scores.row(i).segment(i - (offset + length - 1), length).array();
            if (step == 0)
                slice += reversed(i, last_row - row);
            else
                slice += reversed.row(i).segment(last_row - (row + length - 1), length).array();
        });
}

template <class Scalar>
void add_slices_by_key(const ConstView<Scalar>& table, const RelativeBuckets& line, View<Scalar> scores) {
    check_table<Scalar>("add_slices_by_key", table, line.keys(), line, scores);
    // For one key the row numbers rise along the queries, so slices run down a column of the scores.  They are
    // collected for a few keys and many queries, a tile that fits the first cache, and transposed there.
    constexpr Index kQueries = 256, kKeys = 16;
    Eigen::Matrix<Scalar, kKeys, kQueries, Eigen::RowMajor> by_key;
    for (Index i0 = 0; i0 < line.queries(); i0 += kQueries)
        for (Index j0 = 0; j0 < line.keys(); j0 += kKeys) {
            const Index rows = std::min(kQueries, line.queries() - i0), cols = std::min(kKeys, line.keys() - j0);
            for (Index j = j0; j < j0 + cols; ++j)
                for_runs_between(line, i0 - j, i0 + rows - 1 - j,
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

template void add_slices_by_query<float>(const ConstView<float>&, const RelativeBuckets&, View<float>);
template void add_slices_by_query<double>(const ConstView<double>&, const RelativeBuckets&, View<double>);
template void add_slices_by_key<float>(const ConstView<float>&, const RelativeBuckets&, View<float>);
template void add_slices_by_key<double>(const ConstView<double>&, const RelativeBuckets&, View<double>);

}  // namespace locus

#include "core/attention/slices.h"

#include <algorithm>

namespace locus {

namespace {

template <class Scalar>
void check_table(const char* who, const ConstView<Scalar>& table, Index rows, const BucketLine& line) {
    LOCUS_CHECK(table.rows() == rows && table.cols() == 2 * line.span(),
                std::string(who) + ": a table of [" + std::to_string(table.rows()) + ", " +
                    std::to_string(table.cols()) + "] for a line of " + std::to_string(line.queries()) + " x " +
                    std::to_string(line.keys()) + " pairs and 2k = " + std::to_string(2 * line.span()) + " rows");
}

/// Transposed in blocks that fit the first cache: a plain transpose walks a whole column per row.
template <class Scalar>
Matrix<Scalar> transposed(const Matrix<Scalar>& source) {
    constexpr Index kBlock = 64;
    Matrix<Scalar> target(source.cols(), source.rows());
    for (Index i = 0; i < target.rows(); i += kBlock)
        for (Index j = 0; j < target.cols(); j += kBlock) {
            const Index rows = std::min(kBlock, target.rows() - i), cols = std::min(kBlock, target.cols() - j);
            target.block(i, j, rows, cols) = source.block(j, i, cols, rows).transpose();
        }
    return target;
}

}  // namespace

template <class Scalar>
Matrix<Scalar> slices_by_query(const ConstView<Scalar>& reversed, const BucketLine& line) {
    check_table<Scalar>("slices_by_query", reversed, line.queries(), line);
    const Index last_row = 2 * line.span() - 1;
    Matrix<Scalar> scores(line.queries(), line.keys());
    for (Index i = 0; i < line.queries(); ++i)
        for (const BucketLine::Run& run : line.runs()) {
            // The run's offsets that row i reaches: j = i - offset must be a key.
            const Index first = std::max(run.first_offset, i - (line.keys() - 1));
            const Index last = std::min(run.first_offset + run.length - 1, i);
            if (first > last) continue;
            const Index row_at_last = run.first_row + (last - run.first_offset) * run.step;
            auto slice = scores.row(i).segment(i - last, last - first + 1);
            if (run.step == 0)
                slice.setConstant(reversed(i, last_row - row_at_last));
            else
                slice = reversed.row(i).segment(last_row - row_at_last, last - first + 1);
        }
    return scores;
}

template <class Scalar>
Matrix<Scalar> slices_by_key(const ConstView<Scalar>& table, const BucketLine& line) {
    check_table<Scalar>("slices_by_key", table, line.keys(), line);
    Matrix<Scalar> by_key(line.keys(), line.queries());  // row j first: along i the row numbers rise
    for (Index j = 0; j < line.keys(); ++j)
        for (const BucketLine::Run& run : line.runs()) {
            const Index first = std::max(run.first_offset, -j);
            const Index last = std::min(run.first_offset + run.length - 1, line.queries() - 1 - j);
            if (first > last) continue;
            const Index row_at_first = run.first_row + (first - run.first_offset) * run.step;
            auto slice = by_key.row(j).segment(j + first, last - first + 1);
            if (run.step == 0)
                slice.setConstant(table(j, row_at_first));
            else
                slice = table.row(j).segment(row_at_first, last - first + 1);
        }
    return transposed(by_key);
}

template Matrix<float> slices_by_query<float>(const ConstView<float>&, const BucketLine&);
template Matrix<double> slices_by_query<double>(const ConstView<double>&, const BucketLine&);
template Matrix<float> slices_by_key<float>(const ConstView<float>&, const BucketLine&);
template Matrix<double> slices_by_key<double>(const ConstView<double>&, const BucketLine&);

}  // namespace locus

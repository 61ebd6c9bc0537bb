#include "core/attention/slices_backward.h"

#include <algorithm>

namespace locus {

namespace {

template <class Scalar>
void check_scores(const ConstView<Scalar>& scores, const RelativeBuckets& line) {
    LOCUS_CHECK(scores.rows() == line.queries() && scores.cols() == line.keys(),
                "scatter_slices: scores of " + std::to_string(scores.rows()) + " x " + std::to_string(scores.cols()) +
                    " pairs, expected " + std::to_string(line.queries()) + " x " + std::to_string(line.keys()));
}

}  // namespace

template <class Scalar>
Matrix<Scalar> scatter_slices_by_query(const ConstView<Scalar>& scores, const RelativeBuckets& line) {
    check_scores(scores, line);
    Matrix<Scalar> table = Matrix<Scalar>::Zero(line.queries(), 2 * line.span());
    for (Index i = 0; i < line.queries(); ++i)
        for (const RelativeBuckets::Run& run : line.runs()) {
            // Offsets of the run that query i has; its keys are j = i - offset, so they fall while offsets rise.
            const Index first = std::max(run.first_offset, i - line.keys() + 1);
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
Matrix<Scalar> scatter_slices_by_key(const ConstView<Scalar>& scores, const RelativeBuckets& line) {
    check_scores(scores, line);
    Matrix<Scalar> table = Matrix<Scalar>::Zero(line.keys(), 2 * line.span());
    const Matrix<Scalar> by_key = scores.transpose();  // so that slices are contiguous here too
    for (Index j = 0; j < line.keys(); ++j)
        for (const RelativeBuckets::Run& run : line.runs()) {
            const Index first = std::max(run.first_offset, -j);
            const Index last = std::min(run.first_offset + run.length - 1, line.queries() - 1 - j);
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

template Matrix<float> scatter_slices_by_query<float>(const ConstView<float>&, const RelativeBuckets&);
template Matrix<float> scatter_slices_by_key<float>(const ConstView<float>&, const RelativeBuckets&);
template Matrix<double> scatter_slices_by_query<double>(const ConstView<double>&, const RelativeBuckets&);
template Matrix<double> scatter_slices_by_key<double>(const ConstView<double>&, const RelativeBuckets&);

}  // namespace locus

#include "core/attention/relative_shift.h"

#include <numeric>

namespace locus {

template <class Scalar>
Matrix<Scalar> shift_by_index(const ConstView<Scalar>& bd_raw, Index keys, Index first, Index memory,
                              const std::vector<Index>& positions) {
    LOCUS_CHECK(static_cast<Index>(positions.size()) == bd_raw.rows(),
                "shift_by_index: " + std::to_string(positions.size()) + " positions for " +
                    std::to_string(bd_raw.rows()) + " queries, expected one each");
    Matrix<Scalar> bd = Matrix<Scalar>::Zero(bd_raw.rows(), keys);
    for (Index p = 0; p < bd_raw.rows(); ++p) {
        const Index i = positions[static_cast<std::size_t>(p)];
        if (i < 0) continue;  // a target that is not used
        for (Index j = 0; j < keys; ++j) {
            const Index column = distance_column(first, memory, i, j);
            if (column >= 0 && column < bd_raw.cols()) bd(p, j) = bd_raw(p, column);
        }
    }
    return bd;
}

template <class Scalar>
Matrix<Scalar> shift_by_index(const ConstView<Scalar>& bd_raw, Index keys, Index first) {
    const Index queries = bd_raw.rows();
    LOCUS_CHECK(keys >= queries, "relative attention: " + std::to_string(keys) + " keys for " +
                                     std::to_string(queries) + " queries, expected at least as many");
    std::vector<Index> positions(static_cast<std::size_t>(queries));
    std::iota(positions.begin(), positions.end(), Index(0));
    return shift_by_index<Scalar>(bd_raw, keys, first, keys - queries, positions);
}

template <class Scalar>
Matrix<Scalar> shift_back_by_index(const ConstView<Scalar>& d_bd, Index columns, Index first, Index memory,
                                   const std::vector<Index>& positions) {
    LOCUS_CHECK(static_cast<Index>(positions.size()) == d_bd.rows(),
                "shift_back_by_index: " + std::to_string(positions.size()) + " positions for " +
                    std::to_string(d_bd.rows()) + " queries, expected one each");
    Matrix<Scalar> d_bd_raw = Matrix<Scalar>::Zero(d_bd.rows(), columns);
    for (Index p = 0; p < d_bd.rows(); ++p) {
        const Index i = positions[static_cast<std::size_t>(p)];
        if (i < 0) continue;
        // A query reads each column at most once, so nothing is added up here.
        for (Index j = 0; j < d_bd.cols(); ++j) {
            const Index column = distance_column(first, memory, i, j);
            if (column >= 0 && column < columns) d_bd_raw(p, column) = d_bd(p, j);
        }
    }
    return d_bd_raw;
}

namespace {

/// The same numbers, row-major, under another shape; as many as fit.
template <class Scalar>
Matrix<Scalar> read_as(const Matrix<Scalar>& values, Index rows, Index cols) {
    return Eigen::Map<const Matrix<Scalar>>(values.data(), rows, cols);
}

}  // namespace

template <class Scalar>
std::vector<ShiftFrame<Scalar>> shift_frames(const ConstView<Scalar>& bd_raw) {
    const Index queries = bd_raw.rows(), keys = bd_raw.cols();
    LOCUS_CHECK(keys >= queries && queries > 0,
                "shift: scores of " + to_string(Shape{queries, keys}) + ", expected at least as many keys as queries");
    std::vector<ShiftFrame<Scalar>> frames = {{"(q_i + v) . r_k, columns in falling distance", bd_raw}};
    Matrix<Scalar> padded = Matrix<Scalar>::Zero(queries, keys + 1);
    padded.rightCols(keys) = bd_raw;
    frames.push_back({"pad: a column of zeros on the left", padded});
    const Matrix<Scalar> folded = read_as(padded, keys + 1, queries);
    frames.push_back({"reshape: the same numbers read as " + to_string(Shape{keys + 1, queries}), folded});
    const Matrix<Scalar> dropped = folded.bottomRows(keys);
    frames.push_back({"drop: the first row goes", dropped});
    frames.push_back(
        {"reshape: read as " + to_string(Shape{queries, keys}) + " again", read_as(dropped, queries, keys)});
    return frames;
}

template <class Scalar>
std::vector<ShiftFrame<Scalar>> shift_frames_xlnet(const ConstView<Scalar>& bd_raw, Index keys) {
    const Index queries = bd_raw.rows(), rows = bd_raw.cols();
    LOCUS_CHECK(rows > keys && keys >= queries && queries > 0,
                "shift: scores of " + to_string(Shape{queries, rows}) + " for " + std::to_string(keys) +
                    " keys, expected more columns than keys and at least as many keys as queries");
    std::vector<ShiftFrame<Scalar>> frames = {{"(q_i + v) . r_k, columns in falling distance", bd_raw}};
    const Matrix<Scalar> folded = read_as<Scalar>(bd_raw, rows, queries);
    frames.push_back({"reshape: the same numbers read as " + to_string(Shape{rows, queries}), folded});
    const Matrix<Scalar> dropped = folded.bottomRows(rows - 1);
    frames.push_back({"drop: the first row goes", dropped});
    const Matrix<Scalar> unfolded = read_as(dropped, queries, rows - 1);
    frames.push_back({"reshape: read as " + to_string(Shape{queries, rows - 1}), unfolded});
    frames.push_back({"slice: the first " + std::to_string(keys) + " columns", unfolded.leftCols(keys)});
    return frames;
}

namespace {

/// The cell of a matrix with `columns` columns that stands `place` cells from its beginning.
ShiftSource source_at(Index place, Index columns, Index padding) {
    return {place, place / columns, place % columns - padding};
}

void check_cell(Index i, Index j, Index rows, Index columns) {
    LOCUS_CHECK(i >= 0 && i < rows && j >= 0 && j < columns, "shift_source: cell (" + std::to_string(i) + ", " +
                                                                 std::to_string(j) + ") lies outside " +
                                                                 to_string(Shape{rows, columns}));
}

}  // namespace

ShiftSource shift_source(Index queries, Index keys, Index i, Index j) {
    check_cell(i, j, queries, keys);
    // The row that is dropped holds as many numbers as there are queries.
    return source_at(queries + i * keys + j, keys + 1, 1);
}

ShiftSource shift_source_xlnet(Index queries, Index rows, Index keys, Index i, Index j) {
    check_cell(i, j, queries, keys);
    LOCUS_CHECK(rows > keys, "shift_source: " + std::to_string(rows) + " distances for " + std::to_string(keys) +
                                 " keys, expected more");
    return source_at(queries + i * (rows - 1) + j, rows, 0);
}

template Matrix<float> shift_by_index<float>(const ConstView<float>&, Index, Index);
template Matrix<float> shift_by_index<float>(const ConstView<float>&, Index, Index, Index, const std::vector<Index>&);
template Matrix<double> shift_by_index<double>(const ConstView<double>&, Index, Index);
template Matrix<double> shift_by_index<double>(const ConstView<double>&, Index, Index, Index,
                                               const std::vector<Index>&);
template std::vector<ShiftFrame<float>> shift_frames<float>(const ConstView<float>&);
template std::vector<ShiftFrame<double>> shift_frames<double>(const ConstView<double>&);
template std::vector<ShiftFrame<float>> shift_frames_xlnet<float>(const ConstView<float>&, Index);
template std::vector<ShiftFrame<double>> shift_frames_xlnet<double>(const ConstView<double>&, Index);
template Matrix<float> shift_back_by_index<float>(const ConstView<float>&, Index, Index, Index,
                                                  const std::vector<Index>&);
template Matrix<double> shift_back_by_index<double>(const ConstView<double>&, Index, Index, Index,
                                                    const std::vector<Index>&);

}  // namespace locus

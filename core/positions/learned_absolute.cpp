#include "core/positions/learned_absolute.h"

namespace locus {

namespace {

void check_position(std::int64_t position, Index rows) {
    LOCUS_CHECK(position >= 0, "learned_rows: position " + std::to_string(position) + ", expected 0 or more");
    if (position >= rows)
        throw Error(Fault::unsupported, "learned_rows: position " + std::to_string(position) +
                                            " is past the end of a learned table of " + std::to_string(rows) +
                                            " rows, expected 0 to " + std::to_string(rows - 1));
}

}  // namespace

template <class Scalar>
Matrix<Scalar> learned_rows(const ConstView<Scalar>& table, Index count, Index first) {
    LOCUS_CHECK(count >= 0, "learned_rows: " + std::to_string(count) + " positions, expected 0 or more");
    if (count == 0) return Matrix<Scalar>(0, table.cols());
    check_position(first, table.rows());
    if (count > table.rows() - first) check_position(table.rows(), table.rows());  // the first one that has no row
    return table.middleRows(first, count);
}

template <class Scalar>
Matrix<Scalar> learned_rows(const ConstView<Scalar>& table, const std::vector<std::int64_t>& positions) {
    Matrix<Scalar> rows(static_cast<Index>(positions.size()), table.cols());
    for (Index n = 0; n < rows.rows(); ++n) {
        const std::int64_t position = positions[static_cast<std::size_t>(n)];
        check_position(position, table.rows());
        rows.row(n) = table.row(position);
    }
    return rows;
}

template Matrix<float> learned_rows<float>(const ConstView<float>&, Index, Index);
template Matrix<double> learned_rows<double>(const ConstView<double>&, Index, Index);
template Matrix<float> learned_rows<float>(const ConstView<float>&, const std::vector<std::int64_t>&);
template Matrix<double> learned_rows<double>(const ConstView<double>&, const std::vector<std::int64_t>&);

}  // namespace locus

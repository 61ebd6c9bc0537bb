#include "core/positions/position_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

std::vector<double> inverse_frequencies(Index width, double base) {
    LOCUS_CHECK(width > 0 && width % 2 == 0, "inverse_frequencies: width is " + std::to_string(width) +
                                                 ", expected an even number: sine and cosine come in pairs");
    LOCUS_CHECK(base > 0 && std::isfinite(base), "inverse_frequencies: base is " + std::to_string(base) +
                                                     ", expected a number above 0 (10000 in every release)");
    std::vector<double> frequencies;
    for (Index t = 0; t < width / 2; ++t)
        frequencies.push_back(std::pow(base, -2.0 * static_cast<double>(t) / static_cast<double>(width)));
    return frequencies;
}

template <class Scalar>
Matrix<Scalar> sinusoidal_rows(const std::vector<double>& positions, Index width, SinusoidLayout layout) {
    const std::vector<double> frequencies = inverse_frequencies(width);
    const Index pairs = width / 2;
    Matrix<Scalar> rows(static_cast<Index>(positions.size()), width);
    for (Index n = 0; n < rows.rows(); ++n)
        for (Index t = 0; t < pairs; ++t) {
            const double angle = positions[static_cast<std::size_t>(n)] * frequencies[static_cast<std::size_t>(t)];
            const bool interleaved = layout == SinusoidLayout::interleaved;
            rows(n, interleaved ? 2 * t : t) = Scalar(std::sin(angle));
            rows(n, interleaved ? 2 * t + 1 : pairs + t) = Scalar(std::cos(angle));
        }
    return rows;
}

template <class Scalar>
Matrix<Scalar> sinusoidal_table(Index count, Index width, SinusoidLayout layout) {
    LOCUS_CHECK(count >= 0, "sinusoidal_table: " + std::to_string(count) + " positions, expected 0 or more");
    std::vector<double> positions(static_cast<std::size_t>(count));
    std::iota(positions.begin(), positions.end(), 0.0);
    return sinusoidal_rows<Scalar>(positions, width, layout);
}

std::vector<double> transformer_xl_distances(Index keys, Index clamp) {
    std::vector<double> distances;
    for (Index distance = keys - 1; distance >= 0; --distance)
        distances.push_back(static_cast<double>(clamp > 0 ? std::min(distance, clamp) : distance));
    return distances;
}

std::vector<double> xlnet_distances(Index queries, Index keys, Direction direction, Index clamp, bool reversed) {
    const Index last = direction == Direction::bidirectional ? 1 - queries : 0;
    std::vector<double> distances;
    for (Index distance = keys; distance >= last; --distance) {
        const Index signed_distance = reversed ? -distance : distance;
        distances.push_back(
            static_cast<double>(clamp > 0 ? std::clamp(signed_distance, -clamp, clamp) : signed_distance));
    }
    return distances;
}

template Matrix<float> learned_rows<float>(const ConstView<float>&, Index, Index);
template Matrix<double> learned_rows<double>(const ConstView<double>&, Index, Index);
template Matrix<float> learned_rows<float>(const ConstView<float>&, const std::vector<std::int64_t>&);
template Matrix<double> learned_rows<double>(const ConstView<double>&, const std::vector<std::int64_t>&);
template Matrix<float> sinusoidal_rows<float>(const std::vector<double>&, Index, SinusoidLayout);
template Matrix<double> sinusoidal_rows<double>(const std::vector<double>&, Index, SinusoidLayout);
template Matrix<float> sinusoidal_table<float>(Index, Index, SinusoidLayout);
template Matrix<double> sinusoidal_table<double>(Index, Index, SinusoidLayout);

}  // namespace locus

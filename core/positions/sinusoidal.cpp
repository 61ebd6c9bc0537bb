#include "core/positions/sinusoidal.h"

#include <cmath>
#include <numeric>

namespace locus {

std::vector<double> inverse_frequencies(Index width, double base) {
    LOCUS_CHECK(width > 0 && width % 2 == 0, "inverse_frequencies: width is " + std::to_string(width) +
                                                 ", expected an even number: channels turn in pairs");
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

template Matrix<float> sinusoidal_rows<float>(const std::vector<double>&, Index, SinusoidLayout);
template Matrix<double> sinusoidal_rows<double>(const std::vector<double>&, Index, SinusoidLayout);
template Matrix<float> sinusoidal_table<float>(Index, Index, SinusoidLayout);
template Matrix<double> sinusoidal_table<double>(Index, Index, SinusoidLayout);

}  // namespace locus

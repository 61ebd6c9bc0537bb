#include "viewer/plots/distance_curve.h"

#include <cmath>
#include <limits>

namespace locus {

std::vector<double> strength_by_distance(const ConstView<float>& term, const Mask& visible) {
    const Index length = term.rows();
    LOCUS_CHECK(length > 0 && term.cols() == length, "strength_by_distance: a term of [" + std::to_string(term.rows()) +
                                                         ", " + std::to_string(term.cols()) + "], expected a square");
    LOCUS_CHECK(visible.size() == 0 || (visible.rows() == length && visible.cols() == length),
                "strength_by_distance: a mask of " + std::to_string(visible.rows()) + " rows, expected " +
                    std::to_string(length));
    const auto offsets = static_cast<std::size_t>(2 * length - 1);
    std::vector<double> sum(offsets, 0.0), count(offsets, 0.0);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) {
            if (visible.size() > 0 && !visible(i, j)) continue;
            const auto at = static_cast<std::size_t>(i - j + length - 1);
            sum[at] += std::abs(static_cast<double>(term(i, j)));
            count[at] += 1;
        }
    for (std::size_t n = 0; n < offsets; ++n)
        sum[n] = count[n] > 0 ? sum[n] / count[n] : std::numeric_limits<double>::quiet_NaN();
    return sum;
}

}  // namespace locus

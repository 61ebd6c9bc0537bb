#include "core/positions/alibi.h"

#include <bit>
#include <cmath>
#include <cstdlib>

namespace locus {

std::vector<double> alibi_slopes(Index heads) {
    LOCUS_CHECK(heads >= 1, "alibi_slopes: " + std::to_string(heads) + " heads, expected 1 or more");
    const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    std::vector<double> slopes;
    for (Index h = 0; h < power; ++h)
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(power)));
    for (Index h = 0; std::ssize(slopes) < heads; h += 2)
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(2 * power)));
    return slopes;
}

template <class Scalar>
OffsetBias<Scalar> alibi_line(Index heads, Index queries, Index keys, AlibiForm form) {
    const std::vector<double> slopes = alibi_slopes(heads);
    return make_bias_line<Scalar>("alibi_line", heads, queries, keys, [&](Index h, Index offset) {
        if (form == AlibiForm::causal && offset > 0) return Scalar(0);
        return Scalar(slopes[static_cast<std::size_t>(h)] * -static_cast<double>(std::abs(offset)));
    });
}

template OffsetBias<float> alibi_line<float>(Index, Index, Index, AlibiForm);
template OffsetBias<double> alibi_line<double>(Index, Index, Index, AlibiForm);

}  // namespace locus

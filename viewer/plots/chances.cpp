#include "viewer/plots/chances.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace locus {

std::vector<double> chances_of(const Tensor<float>& logits, Index row) {
    const auto rows = logits.rows();
    const double largest = rows.row(row).maxCoeff();
    std::vector<double> values;
    for (Index v = 0; v < rows.cols(); ++v) values.push_back(std::exp(static_cast<double>(rows(row, v)) - largest));
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    for (double& value : values) value /= sum;
    return values;
}

std::vector<std::int64_t> likeliest(const std::vector<double>& chances, std::size_t count) {
    std::vector<std::int64_t> order(chances.size());
    std::iota(order.begin(), order.end(), 0);
    count = std::min(count, order.size());
    const auto chance = [&](std::int64_t id) { return chances[static_cast<std::size_t>(id)]; };
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
        [&](std::int64_t a, std::int64_t b) { return chance(a) > chance(b) || (chance(a) == chance(b) && a < b); });
    order.resize(count);
    return order;
}

}  // namespace locus

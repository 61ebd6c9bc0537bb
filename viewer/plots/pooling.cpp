#include "viewer/plots/pooling.h"

#include <algorithm>

namespace locus::view {

Grid halve(const Grid& grid) {
    Grid half{(grid.rows + 1) / 2, (grid.cols + 1) / 2, {}};
    half.values.reserve(static_cast<std::size_t>(half.rows) * static_cast<std::size_t>(half.cols));
    for (int i = 0; i < half.rows; ++i)
        for (int j = 0; j < half.cols; ++j) {
            float sum = 0;
            int count = 0;
            for (int y = 2 * i; y < std::min(2 * i + 2, grid.rows); ++y)
                for (int x = 2 * j; x < std::min(2 * j + 2, grid.cols); ++x, ++count)
                    sum += grid.values[static_cast<std::size_t>(y) * static_cast<std::size_t>(grid.cols) +
                                       static_cast<std::size_t>(x)];
            half.values.push_back(sum / static_cast<float>(count));
        }
    return half;
}

int level_for(double cells_per_pixel) {
    int level = 0;
    for (; cells_per_pixel > 1 && level < 16; cells_per_pixel /= 2) ++level;
    return level;
}

}  // namespace locus::view

#pragma once
// Products of two vectors, channel by channel: a bar each, and on hover the two numbers, their product and the sum so
// far.
#include <string>
#include <vector>

#include "viewer/ui/side_column.h"

namespace locus {

struct ProductChart {
    std::vector<double> left, right, products, running;
    ImU32 colour = 0;
};

inline std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// As wide as the column, 84 design pixels high together with the line below it.
void draw_product_chart(const Ui& ui, SideColumn& column, const char* id, const ProductChart& chart);

}  // namespace locus

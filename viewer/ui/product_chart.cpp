#include "viewer/ui/product_chart.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"

namespace locus {

void draw_product_chart(const Ui& ui, SideColumn& column, const char* id, const ProductChart& chart) {
    double low = 0, high = 0;
    for (const double product : chart.products)
        if (std::isfinite(product)) {
            low = std::min(low, product);
            high = std::max(high, product);
        }
    const Rect area{column.left(), column.y() - ui.px(9), column.right(), column.y() + ui.px(43)};
    const Touch mouse = ui.touch(id, area);
    const double reach = high > low ? high - low : 1;
    const auto y = [&](double value) { return area.y1 - static_cast<float>((value - low) / reach) * area.height(); };
    const auto count = static_cast<float>(chart.products.size());
    std::string hint = "point at a bar for its channel";
    for (std::size_t c = 0; c < chart.products.size(); ++c) {
        const auto n = static_cast<float>(c);
        const Rect slot{area.x0 + area.width() * n / count, area.y0, area.x0 + area.width() * (n + 1) / count, area.y1};
        const bool under = mouse.hovered && slot.holds(mouse.at);
        const double product = chart.products[c];
        const float gap = slot.width() > ui.px(4) ? ui.px(1) : 0;
        const float top = std::floor(y(std::max(0.0, product))), bottom = std::floor(y(std::min(0.0, product)));
        ui.fill({std::floor(slot.x0), top, std::floor(slot.x1) - gap, std::max(bottom, top + ui.px(1))},
                under          ? ui.theme->text
                : product >= 0 ? chart.colour
                               : ui.theme->muted);
        if (under)
            hint = std::to_string(c) + ":  " + fixed(chart.left[c], 3) + " \u00b7 " + fixed(chart.right[c], 3) + " = " +
                   fixed(product, 3) + ", \u03a3 " + fixed(chart.running[c], 3);
    }
    ui.text_within(area.x1, area.y1 + ui.px(12), column.width(), hint, ui.theme->muted, Face::mono_small, Align::right);
    column.skip(76);
}

}  // namespace locus

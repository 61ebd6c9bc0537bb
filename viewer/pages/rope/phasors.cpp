#include "viewer/pages/rope/phasors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace locus {

std::pair<Index, Index> channels_of_plane(Index t, Index width, RotaryLayout layout) {
    return layout == RotaryLayout::interleaved ? std::pair(2 * t, 2 * t + 1) : std::pair(t, t + width / 2);
}

std::vector<Point> hands_of(const RowVector<double>& x, RotaryLayout layout) {
    LOCUS_CHECK(x.size() % 2 == 0, "hands_of: " + std::to_string(x.size()) + " channels, expected an even number");
    std::vector<Point> hands;
    for (Index t = 0; t < x.size() / 2; ++t) {
        const auto [a, b] = channels_of_plane(t, x.size(), layout);
        hands.push_back({x[a], x[b]});
    }
    return hands;
}

std::vector<Point> rotate_hands(const std::vector<Point>& hands, const std::vector<double>& theta, double position,
                                double factor) {
    LOCUS_CHECK(hands.size() == theta.size(), "rotate_hands: " + std::to_string(hands.size()) + " hands and " +
                                                  std::to_string(theta.size()) + " angles, expected as many");
    std::vector<Point> after;
    for (std::size_t t = 0; t < hands.size(); ++t) {
        const double c = factor * std::cos(position * theta[t]), s = factor * std::sin(position * theta[t]);
        after.push_back({hands[t].x * c - hands[t].y * s, hands[t].y * c + hands[t].x * s});
    }
    return after;
}

std::vector<Point> rotate_hands(const std::vector<Point>& hands, const RotaryTable<float>& table, Index position) {
    LOCUS_CHECK(std::ssize(hands) == table.cos.cols() && position >= 0 && position < table.length(),
                "rotate_hands: " + std::to_string(hands.size()) + " hands at position " + std::to_string(position) +
                    ", expected as many as the table has planes, and a row of it");
    std::vector<Point> after;
    for (std::size_t t = 0; t < hands.size(); ++t) {
        const auto plane = static_cast<Index>(t);
        const double c = static_cast<double>(table.cos(position, plane));
        const double s = static_cast<double>(table.sin(position, plane));
        after.push_back({hands[t].x * c - hands[t].y * s, hands[t].y * c + hands[t].x * s});
    }
    return after;
}

std::vector<Point> product_steps(const std::vector<Point>& q, const std::vector<Point>& k) {
    LOCUS_CHECK(q.size() == k.size(), "product_steps: " + std::to_string(q.size()) + " and " +
                                          std::to_string(k.size()) + " planes, expected as many");
    std::vector<Point> steps;
    for (std::size_t t = 0; t < q.size(); ++t)
        steps.push_back({q[t].x * k[t].x + q[t].y * k[t].y, q[t].y * k[t].x - q[t].x * k[t].y});
    return steps;
}

std::vector<Point> head_to_tail(const std::vector<Point>& steps) {
    std::vector<Point> corners = {{0, 0}};
    for (const Point& step : steps) corners.push_back({corners.back().x + step.x, corners.back().y + step.y});
    return corners;
}

Frame frame_around(const std::vector<Point>& points, double aspect, double margin) {
    double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
    for (const Point& p : points) {
        x0 = std::min(x0, p.x);
        x1 = std::max(x1, p.x);
        y0 = std::min(y0, p.y);
        y1 = std::max(y1, p.y);
    }
    double width = x1 - x0, height = y1 - y0;
    if (width == 0 && height == 0) width = height = 2;
    if (width < height * aspect)
        width = height * aspect;
    else
        height = width / aspect;
    const double x = (x0 + x1) / 2, y = (y0 + y1) / 2, grown = 0.5 / (1 - 2 * margin);
    return {x - width * grown, y - height * grown, x + width * grown, y + height * grown};
}

Index position_at_angle(double before, double pointed, double theta, Index current, Index highest) {
    constexpr double kTurn = 2 * std::numbers::pi;
    // Every position (pointed - before + whole turns) / theta points there; the one nearest to the current is meant.
    const double exact = (pointed - before) / theta, turn = kTurn / theta;
    const double nearest = exact + std::round((static_cast<double>(current) - exact) / turn) * turn;
    return static_cast<Index>(std::round(std::clamp(nearest, 0.0, static_cast<double>(highest))));
}

std::size_t dial_columns(std::size_t count, float width, float height, float label) {
    std::size_t best = 1;
    float largest = -1;
    for (std::size_t columns = 1; columns <= count; ++columns) {
        const auto rows = static_cast<float>((count + columns - 1) / columns);
        const float dial = std::min(width / static_cast<float>(columns), height / rows - label);
        if (dial <= largest) continue;
        largest = dial;
        best = columns;
    }
    return best;
}

std::vector<Index> wire_ends(Index width, RotaryLayout layout) {
    std::vector<Index> ends(static_cast<std::size_t>(width));
    for (Index t = 0; t < width / 2; ++t) {
        const auto [a, b] = channels_of_plane(t, width, layout);
        ends[static_cast<std::size_t>(a)] = 2 * t;
        ends[static_cast<std::size_t>(b)] = 2 * t + 1;
    }
    return ends;
}

Index crossings(const std::vector<Index>& ends) {
    Index count = 0;
    for (std::size_t a = 0; a < ends.size(); ++a)
        for (std::size_t b = a + 1; b < ends.size(); ++b) count += ends[a] > ends[b];
    return count;
}

}  // namespace locus

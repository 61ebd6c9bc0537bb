// Dials, the walk of their products, and the wires of a layout.
#include "viewer/pages/rope/phasors.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

namespace locus::test::test_phasors {

namespace {

RowVector<double> vector_of(Index width, double phase) {
    RowVector<double> x(width);
    for (Index c = 0; c < width; ++c) x[c] = std::sin(phase + 1.7 * static_cast<double>(c));
    return x;
}

double score_of(const std::vector<Point>& steps) { return head_to_tail(steps).back().x; }

}  // namespace

TEST_CASE("phasors: hands turn as the reference rotates", "[viewer][rope]") {
    const std::vector<double> theta = inverse_frequencies(8);
    const Matrix<double> x = vector_of(8, 0.3);
    for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split}) {
        const Matrix<double> rotated = rotate<double>(x, rotary_table<double>(theta, 11, 1), layout);
        const std::vector<Point> expected = hands_of(rotated.row(0), layout);
        const std::vector<Point> found = rotate_hands(hands_of(x.row(0), layout), theta, 11);
        REQUIRE(found.size() == 4);
        for (std::size_t t = 0; t < found.size(); ++t) {
            CHECK(found[t].x == Approx(expected[t].x).margin(1e-14));
            CHECK(found[t].y == Approx(expected[t].y).margin(1e-14));
        }
    }
    // By a row of a table, which need not come of angles.
    RotaryTable<float> table = rotary_table<float>(theta, 0, 12);
    const std::vector<Point> hands = hands_of(x.row(0), RotaryLayout::interleaved);
    const std::vector<Point> by_angle = rotate_hands(hands, theta, 11);
    std::vector<Point> by_row = rotate_hands(hands, table, 11);
    for (std::size_t t = 0; t < 4; ++t) CHECK(by_row[t].x == Approx(by_angle[t].x).margin(1e-5));
    table.cos *= 2;
    table.sin *= 2;
    by_row = rotate_hands(hands, table, 11);
    for (std::size_t t = 0; t < 4; ++t) CHECK(by_row[t].y == Approx(2 * by_angle[t].y).margin(1e-5));
    CHECK_THROWS_AS(rotate_hands(hands, table, 12), Error);
}

TEST_CASE("phasors: the walk ends at the dot product, and a common shift leaves every corner in place",
          "[viewer][rope][law]") {
    const std::vector<double> theta = inverse_frequencies(12);
    const std::vector<Point> q = hands_of(vector_of(12, 0.1), RotaryLayout::interleaved);
    const std::vector<Point> k = hands_of(vector_of(12, 2.4), RotaryLayout::interleaved);
    const auto walk = [&](double m, double n) {
        return product_steps(rotate_hands(q, theta, m), rotate_hands(k, theta, n));
    };
    CHECK(score_of(walk(0, 0)) == Approx(vector_of(12, 0.1).dot(vector_of(12, 2.4))));
    CHECK(std::abs(score_of(walk(5, 4)) - score_of(walk(0, 0))) > 0.01);
    const std::vector<Point> here = head_to_tail(walk(5, 4)), there = head_to_tail(walk(205, 204));
    REQUIRE(here.size() == 7);
    CHECK(here.front() == Point{0, 0});
    for (std::size_t n = 0; n < here.size(); ++n) {
        CHECK(there[n].x == Approx(here[n].x).margin(1e-12));
        CHECK(there[n].y == Approx(here[n].y).margin(1e-12));
    }
}

TEST_CASE("phasors: a factor lengthens every hand, so a score grows by its square", "[viewer][rope]") {
    const std::vector<double> theta = inverse_frequencies(4);
    const std::vector<Point> q = hands_of(vector_of(4, 1), RotaryLayout::half_split);
    const double plain = score_of(product_steps(rotate_hands(q, theta, 3), rotate_hands(q, theta, 1)));
    CHECK(score_of(product_steps(rotate_hands(q, theta, 3, 1.5), rotate_hands(q, theta, 1, 1.5))) ==
          Approx(2.25 * plain));
}

TEST_CASE("phasors: the frame holds everything and has the shape of the room", "[viewer][rope]") {
    const std::vector<Point> points = {{-1, 2}, {3, -0.5}};
    for (const double aspect : {0.5, 1.0, 3.0}) {
        const Frame frame = frame_around(points, aspect, 0.1);
        CHECK((frame.x1 - frame.x0) / (frame.y1 - frame.y0) == Approx(aspect));
        for (const Point& p : {points[0], points[1], Point{0, 0}}) {
            CHECK(p.x >= frame.x0 + 0.1 * (frame.x1 - frame.x0) - 1e-12);
            CHECK(p.x <= frame.x1 - 0.1 * (frame.x1 - frame.x0) + 1e-12);
            CHECK(p.y >= frame.y0 + 0.1 * (frame.y1 - frame.y0) - 1e-12);
            CHECK(p.y <= frame.y1 - 0.1 * (frame.y1 - frame.y0) + 1e-12);
        }
    }
    CHECK(frame_around({}, 1, 0).x1 == 1);
    const Frame away = frame_around({{2, 1}, {6, 4}}, 1, 0);  // the origin is in it
    CHECK(away.x0 == 0);
    CHECK(away.x1 == 6);
}

TEST_CASE("phasors: a dragged hand chooses the nearest position that points there", "[viewer][rope]") {
    const double quarter = std::numbers::pi / 2;
    // theta 1: a full turn is 6.28 positions, so pointing at the same angle again means 6 or 7 further.
    CHECK(position_at_angle(0, 1, 1, 0, 255) == 1);
    CHECK(position_at_angle(0, 1, 1, 6, 255) == 7);
    CHECK(position_at_angle(0, 1, 1, 14, 255) == 14);
    // A slow plane: a quarter turn is far away.
    CHECK(position_at_angle(0, quarter, 0.01, 0, 255) == 157);
    CHECK(position_at_angle(0, -0.5, 0.01, 3, 255) == 0);
    CHECK(position_at_angle(0, 3, 0.01, 250, 255) == 255);
    // Every position is its own answer.
    for (Index m = 0; m <= 255; ++m)
        CHECK(position_at_angle(0.4, std::remainder(0.4 + 0.3 * static_cast<double>(m), 4 * quarter), 0.3, m, 255) ==
              m);
}

TEST_CASE("phasors: interleaved wires go straight down, half-split ones cross", "[viewer][rope]") {
    CHECK(wire_ends(8, RotaryLayout::interleaved) == std::vector<Index>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(crossings(wire_ends(8, RotaryLayout::interleaved)) == 0);
    const std::vector<Index> ends = wire_ends(8, RotaryLayout::half_split);
    CHECK(ends == std::vector<Index>{0, 2, 4, 6, 1, 3, 5, 7});
    CHECK(crossings(ends) == 6);
    // Slot s is fed by the channel that the reference's order puts there.
    const std::vector<Index> order = half_split_order(8);
    for (std::size_t c = 0; c < order.size(); ++c) CHECK(ends[c] == order[c]);
}

TEST_CASE("phasors: dials become as large as the room allows", "[viewer][rope]") {
    CHECK(dial_columns(16, 800, 100, 0) == 8);
    CHECK(dial_columns(16, 100, 1600, 0) == 1);
    CHECK(dial_columns(1, 300, 300, 20) == 1);
    CHECK(dial_columns(16, 400, 400, 0) == 4);
    CHECK(dial_columns(4, 400, 200, 80) == 4);  // names take room from every row
    CHECK(dial_columns(5, 300, 200, 0) == 3);   // the last row counts, also half empty
}

}  // namespace locus::test::test_phasors

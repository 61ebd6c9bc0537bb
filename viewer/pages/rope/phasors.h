#pragma once
// Rotary planes as hands on dials, and their products as steps of a walk whose real part is the score.
// Su et al. 2021, eq. 14-16: q_t conj(k_t) e^{i(m-n) theta_t}.
#include <utility>
#include <vector>

#include "core/positions/rotary.h"
#include "core/tensor.h"

namespace locus {

/// A place or a 2-vector, y upwards.
struct Point {
    double x = 0, y = 0;
    bool operator==(const Point&) const = default;
};

/// The two channels that make plane t of a head of `width` channels.
std::pair<Index, Index> channels_of_plane(Index t, Index width, RotaryLayout layout);

/// Plane t of x as a 2-vector.  x [d] -> [d/2].  Throws Error(usage) if d is odd.
std::vector<Point> hands_of(const RowVector<double>& x, RotaryLayout layout);

/// Every hand rotated by position * theta_t and made `factor` times as long.  theta as many as hands.
std::vector<Point> rotate_hands(const std::vector<Point>& hands, const std::vector<double>& theta, double position,
                                double factor = 1);

/// The same by row `position` of a table, whose sines and cosines may be any.
std::vector<Point> rotate_hands(const std::vector<Point>& hands, const RotaryTable<float>& table, Index position);

/// q_t conj(k_t) for rotated hands: the x of their sum is the score.
std::vector<Point> product_steps(const std::vector<Point>& q, const std::vector<Point>& k);

/// Corners of the walk that lays the steps head to tail, from the origin -> steps + 1 points.
std::vector<Point> head_to_tail(const std::vector<Point>& steps);

/// A window onto the plane.
struct Frame {
    double x0 = -1, y0 = -1, x1 = 1, y1 = 1;
};

/// The smallest window of this width / height that holds the points and the origin, `margin` (share of its size) free
/// around them; a unit window if all of them are the origin.
Frame frame_around(const std::vector<Point>& points, double aspect, double margin);

/// The position 0 ... highest that rotates a hand from angle `before` to as near `pointed` (radians) as it gets; of
/// several turns the one nearest to `current`.
Index position_at_angle(double before, double pointed, double theta, Index current, Index highest);

/// Columns that make `count` dials as large as an area of width x height allows, `label` of each row's height taken.
std::size_t dial_columns(std::size_t count, float width, float height, float label);

/// Where channel c of memory ends among the slots 2t and 2t + 1 of plane t -> [width].
std::vector<Index> wire_ends(Index width, RotaryLayout layout);
/// How many pairs of wires cross.
Index crossings(const std::vector<Index>& ends);

}  // namespace locus

#pragma once
// Where the numbers of an axis are, and where a tooltip goes: beside its subject, never over it.
#include <string>
#include <vector>

namespace locus {

/// Multiples of 1, 2 or 5 times a power of ten inside [low, high], at most `at_most` (>= 2) of them, rising.
/// One value if low == high; none if a bound is not finite or low > high.
std::vector<double> nice_ticks(double low, double high, int at_most);

/// The same, but whole numbers only, for offsets, rows and tokens.
std::vector<double> whole_ticks(double low, double high, int at_most);

/// A tick in words that tell it from its neighbours and fit beside a plot: "10" of 10, 20; "0.5" of 0.5, 1.0; "4e−06"
/// where more than four decimals or six digits would be needed.
std::string tick_label(double tick, const std::vector<double>& ticks);

struct Box {
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    bool meets(const Box& other) const { return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1; }
};

struct Corner {
    float x = 0, y = 0;
};

/// The upper left corner of a box of width x height: right of `spoken_of` and level with the pointer's row if it
/// fits on a screen of `screen_width` x `screen_height`, else left of it, else below, else above; inside the screen in
/// any case.  Where no side is large enough the largest one is taken.
Corner tooltip_place(const Box& spoken_of, float width, float height, float screen_width, float screen_height,
                     float gap);

}  // namespace locus

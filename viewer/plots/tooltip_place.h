#pragma once
// Where a tooltip goes: beside what it speaks of, never over it.

namespace locus {

struct Box {
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    bool meets(const Box& other) const { return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1; }
};

struct Corner {
    float x = 0, y = 0;
};

/// The upper left corner of a box of width x height: right of `spoken_of` and level with the pointer's row if there is
/// room on a screen of `screen_width` x `screen_height`, else left of it, else below, else above; inside the screen in
/// any case.  Where no side has room the largest one is taken.
Corner tooltip_place(const Box& spoken_of, float width, float height, float screen_width, float screen_height,
                     float gap);

}  // namespace locus

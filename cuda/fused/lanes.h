#pragma once
// What the fused kernels know of lanes: loops whose numbers the compiler knows, and who holds what of a fragment.
#include <cstdint>
#include <utility>

namespace locus::cuda {

/// f(0), f(1) ... f(count - 1), each with a number that can be the argument of a template.
template <int count, class F>
constexpr void each_constant(F f) {
    [&]<int... n>(std::integer_sequence<int, n...>) { (f(std::integral_constant<int, n>()), ...); }
    (std::make_integer_sequence<int, count>());
}

/// f(0), f(1) ... f(count - 1).  On the device each number is known to the compiler, since registers have no addresses;
/// the host has no such registers, and a loop costs its compiler less than half of the time.
template <int count, class F>
constexpr void unrolled(F f) {
#ifdef __CUDACC__
    each_constant<count>(f);
#else
    for (int n = 0; n < count; ++n) f(n);
#endif
}

/// A thread of a block.  Fragments as in the PTX manual, mma.m16n8k16: `group` is the row of 8, `pair` the pair of
/// columns that a lane holds.
struct LaneBase {
    int thread = 0;

    constexpr int warp() const { return thread / 32; }
    constexpr int lane() const { return thread % 32; }
    constexpr int group() const { return lane() / 4; }
    constexpr int pair() const { return lane() % 4; }

    /// Where several warps share each of so many bands of rows: the warp's band, and which of its sharers it is.
    constexpr int band(int bands) const { return warp() % bands; }
    constexpr int sharer(int bands) const { return warp() / bands; }
};

constexpr void clear(float (&c)[4]) { c[0] = c[1] = c[2] = c[3] = 0; }

}  // namespace locus::cuda

#pragma once
// The typefaces by their role, and how large each is: what the screen and a vector figure agree on.
#include <array>
#include <cstddef>

namespace locus {

/// A role on screen; sizes are em heights in design pixels.
enum class Face {
    ui,           // Inter 14
    title,        // Inter semibold 13
    brand,        // Inter semibold 16
    label,        // Inter 12: row labels
    tiny,         // Inter 10.5: subscripts of ui
    mono,         // JetBrains Mono 12.5: every number
    mono_strong,  // the same, semibold: a result
    mono_small,   // JetBrains Mono 11: subtitles, legends, axes
    mono_tiny,    // JetBrains Mono 10: subscripts of formula
    formula,      // JetBrains Mono 14
    count
};

struct FaceSize {
    char family;  // i Inter, s semibold, m mono, b mono semibold
    float em;
};

inline constexpr std::array<FaceSize, static_cast<std::size_t>(Face::count)> kFaces = {{{'i', 14},
                                                                                        {'s', 13},
                                                                                        {'s', 16},
                                                                                        {'i', 12},
                                                                                        {'i', 10.5f},
                                                                                        {'m', 12.5f},
                                                                                        {'b', 12.5f},
                                                                                        {'m', 11},
                                                                                        {'m', 10},
                                                                                        {'m', 14}}};

}  // namespace locus

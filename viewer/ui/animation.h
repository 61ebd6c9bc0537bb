#pragma once
// An animation on a page: frames from 0 to a last one, a clock that plays them, steps for those who want no motion.
#include "core/tensor.h"

namespace locus {

/// How far an animation has come; part of State.
struct Animation {
    double at = 0;  // 0 ... last; between two whole numbers something is on its way
    bool playing = false;
    double speed = 1;  // times the page's own pace
};

inline constexpr double kAnimationSpeeds[] = {0.25, 0.5, 1, 2, 4};

/// Moves a playing animation on by real time; it stops at its end, and plays from the start when started there.
class AnimationClock {
public:
    /// Once a frame of the screen.  now: seconds from anywhere; pace: frames of the animation per second at speed 1.
    /// Where motion is reduced nothing moves by itself: an animation that was told to play goes one whole frame on and
    /// stops.
    void advance(Animation& animation, double now, double last, double pace, bool reduce_motion);

private:
    double before_ = 0;
    bool ran_ = false;
};

/// The whole frame that is shown, or was shown last.
Index whole_frame(const Animation& animation);
/// One whole frame on (by 1) or back (by -1), stopping a playing animation; at an end it starts over from the other.
void step_animation(Animation& animation, int by, double last);
/// Starts it, from the start if it is at its end, or stops it.
void toggle_animation(Animation& animation, double last);
/// The next of kFilmSpeeds, and from the fastest to the slowest.
void next_animation_speed(Animation& animation);

}  // namespace locus

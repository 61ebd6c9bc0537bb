#include "viewer/ui/animation.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace locus {

namespace {

constexpr double kLongestGap = 0.25;  // seconds: after a pause of the window the animation goes on, it does not jump

}  // namespace

void AnimationClock::advance(Animation& animation, double now, double last, double pace, bool reduce_motion) {
    animation.at = std::clamp(animation.at, 0.0, last);
    if (!animation.playing) {
        ran_ = false;
        return;
    }
    if (reduce_motion) {
        animation.at = std::min(last, std::floor(animation.at) + 1);
        animation.playing = ran_ = false;
        return;
    }
    if (ran_) animation.at += std::min(now - before_, kLongestGap) * pace * animation.speed;
    ran_ = true;
    before_ = now;
    if (animation.at < last) return;
    animation.at = last;
    animation.playing = ran_ = false;
}

Index whole_frame(const Animation& animation) { return static_cast<Index>(std::floor(animation.at + 1e-9)); }

void step_animation(Animation& animation, int by, double last) {
    const double next = by > 0 ? std::floor(animation.at + 1e-9) + 1 : std::ceil(animation.at - 1e-9) - 1;
    animation.at = next > last + 1e-9 ? 0 : next < 0 ? last : next;
    animation.playing = false;
}

void toggle_animation(Animation& animation, double last) {
    animation.playing = !animation.playing;
    if (animation.playing && animation.at >= last) animation.at = 0;
}

void next_animation_speed(Animation& animation) {
    const auto* next = std::upper_bound(std::begin(kAnimationSpeeds), std::end(kAnimationSpeeds), animation.speed);
    animation.speed = next == std::end(kAnimationSpeeds) ? kAnimationSpeeds[0] : *next;
}

}  // namespace locus

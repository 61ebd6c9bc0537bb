#pragma once
// Play, one frame back, one forward, the current frame, the speed: the same on every page with an animation.
#include "viewer/state/state.h"
#include "viewer/ui/animation.h"
#include "viewer/ui/ui.h"
#include "viewer/ui/window.h"

namespace locus {

/// From x to the right, centred on y; returns the right end.  `shown` is written after the slider: "t = 12", "3 of 6".
float draw_animation_controls(const Ui& ui, const char* id, float x, float y, float slider, Animation& animation,
                              double last, const std::string& shown, bool reduce_motion);

/// p plays or stops, n and N step, v is the next speed.  False for other keys.
bool press_animation(Animation& animation, double last, const KeyPress& press);

}  // namespace locus

#pragma once
// When a frame is drawn: after something happened, and not otherwise.
#include <limits>

#include "viewer/app.h"

namespace locus {

/// Until the window closes, or `seconds` have passed.
void run_loop(Window& window, App& app, double seconds = std::numeric_limits<double>::infinity());

/// Draws until everything that was asked for is on screen.  Throws the error that stands on the screen instead, if any.
void settle(Window& window, App& app);

}  // namespace locus

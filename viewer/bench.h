#pragma once
// What the viewer costs: head change, panning a large matrix, doing nothing.
#include <string>

#include "viewer/app.h"

namespace locus::view {

/// Measures on the open window and returns one JSON object: head_change_ms (median of a redraw after the head changed),
/// pan_fps (frames per second while a 2048 x 2048 matrix is panned), idle_cpu_percent (of one core, over three
/// seconds).
std::string run_bench(Window& window, App& app, State& state);

}  // namespace locus::view

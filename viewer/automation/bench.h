#pragma once
// How fast the viewer is, on this machine.
#include <string>

#include "viewer/data/deberta_session.h"
#include "viewer/state/state.h"

namespace locus {

/// One JSON object: milliseconds of a head change, frames per second while a 2048 x 2048 matrix is panned,
/// share of a core while nothing happens.
std::string run_bench(const DebertaSession& session, const State& state, int width, int height);

}  // namespace locus

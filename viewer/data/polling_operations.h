#pragma once
// The arithmetic of a pass on the processor, with a question before each of its functions: does anybody still want the
// answer, and is it time for a frame?  So every pass of every family can be stopped and paused, and none knows of it.
#include "core/models/operations.h"

namespace locus {

/// cpu_operations(), asking poll_work() first; lives as long as the program.
template <class Scalar>
const Operations<Scalar>& polling_operations();

}  // namespace locus

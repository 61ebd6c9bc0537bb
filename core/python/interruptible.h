#pragma once
// Long work for Python: other threads of the interpreter run meanwhile, and Ctrl+C ends it.
#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "core/cancel.h"
#include "core/weights.h"

namespace locus::python {

/// How many steps of its work are done; counted by the work, shown by Python.
using StepCount = std::atomic<std::size_t>;

/// Runs `work` on a thread of its own without the GIL, while the calling thread asks Python for signals twenty times a
/// second.  Where a handler raises (Ctrl+C: KeyboardInterrupt), `stop` says yes from then on, and that exception is
/// thrown as soon as the work has ended.  `progress`: None, or a function of the number of steps done so far.
/// Throws what the work throws, and what `progress` raises.
void run_interruptibly(const std::function<void(const CancelToken& stop, StepCount& steps)>& work,
                       const nanobind::object& progress = nanobind::none());

/// The same weights, except that reading throws Cancelled once `stop` says yes: a forward pass reads as it goes, so it
/// ends within one of its layers.  `layers` counts those that the pass has begun, by the names of what it reads
/// ("...layer.3.attention..."); it must live as long as the weights.
std::shared_ptr<const WeightSource> interruptible(std::shared_ptr<const WeightSource> weights, CancelToken stop,
                                                  StepCount& layers);

}  // namespace locus::python

#pragma once
// The parts of the extension module, one file each.
#include <nanobind/nanobind.h>

namespace locus::python {

/// traces.cpp: Trace, its arrays, what is known of a stage by its name, and cells replayed.
void bind_traces(nanobind::module_& module);
/// models.cpp: tokens, forward passes, the best words of a row of logits.
void bind_models(nanobind::module_& module);
/// conformance.cpp: two traces compared, kits written and judged, the catalogue.
void bind_conformance(nanobind::module_& module);

}  // namespace locus::python
